//! What people read.

use std::collections::BTreeSet;

use store::{Change, Place, Store as _};

use crate::support::{TestHub, by};

/// The cookie of a session, by a link.
fn session(hub: &TestHub) -> String {
    let link = hub.running().hub.sessions.new_link().unwrap();
    let answer = hub.get(&format!("/link/{link}"), "");
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(hub.get(&format!("/link/{link}"), "").status, 403, "a link is good once");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    format!("Cookie: {}\r\n", cookie.split(';').next().unwrap())
}

#[test]
fn pages_are_for_sessions_and_a_link_makes_one() {
    let mut hub = TestHub::start();
    for path in ["/", "/nodes/x", "/api/v1/fleet", "/api/v1/status", "/api/v1/openapi.json"] {
        let answer = hub.get(path, "Cookie: punctual-session=00\r\n");
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.text().contains("punctual-hub link"));
    }
    assert_eq!(hub.get("/link/..", "").status, 403);
    let cookie = session(&hub);
    let page = hub.get("/", &cookie);
    assert_eq!(page.status, 200);
    assert!(page.text().contains("punctual-hub enrol"), "an empty fleet says what fills it");
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    let description = hub.get("/api/v1/openapi.json", &cookie).json();
    assert!(
        description["security"][0]["session"].is_array()
            && description["paths"]["/"]["get"]["responses"]["401"].is_object()
    );
    hub.restart();
    assert_eq!(hub.get("/", &cookie).status, 200, "sessions outlive a start");
    hub.running().hub.sessions.end_all().unwrap();
    assert_eq!(hub.get("/", &cookie).status, 401);
}

#[test]
fn the_one_beyond_its_limit_is_first_and_hostile_names_are_text() {
    let hub = TestHub::start_with(hub::limits::Limits::default(), true);
    let hostile = "<script>alert(1)<script>";
    let mut calm = hub.enrolled("calm");
    let mut late = hub.enrolled(hostile);
    for (node, maxima) in [(&mut calm, [9_000, 12_000]), (&mut late, [9_000, 250_000])] {
        node.ends_now_after(3);
        node.begin("host");
        for _ in 0..3 {
            node.interval(&maxima, Some(hostile));
        }
        node.send(&hub);
    }
    let place = Some(Place { rack: hostile.to_owned(), slot: "3".to_owned() });
    hub.store().change_node(late.key(), &Change::Placed { place }, &by()).unwrap();
    let label = Change::Labeled { key: hostile.to_owned(), value: Some("\"><img src=x onerror=alert(1)>".to_owned()) };
    hub.store().change_node(late.key(), &label, &by()).unwrap();
    let page = hub.get("/", "");
    let text = page.text();
    assert!(text.contains("1 node beyond the limit"), "{text}");
    assert!(text.contains("150 us beyond its limit"), "{text}");
    assert!(text.find("&lt;script&gt;").unwrap() < text.find("calm").unwrap());
    let node = hub.get(&format!("/nodes/{}?last=6h", late.key()), "").text();
    for (name, text) in [("fleet", &text), ("node", &node)] {
        assert_eq!(text.matches("<script").count(), 1, "{name}: {text}");
        assert!(!text.contains("<img"), "{name}: {text}");
    }
    assert!(node.contains("CPU 1") && node.contains("class=\"curve\""), "{node}");
    // The same again is not sent again; something new is.
    let tag = page.header("etag").unwrap();
    let again = hub.get("/", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag)));
    calm.interval(&[13_000, 1_000], None);
    calm.send(&hub);
    assert_eq!(hub.get("/", &format!("If-None-Match: {tag}\r\n")).status, 200);
    assert!(hub.get("/?q=calm", "").text().contains("13.0 us"));
    assert!(!hub.get("/?q=calm", "").text().contains(&late.key().to_string()));
}

#[test]
fn documents_say_the_same_in_integers() {
    let hub = TestHub::start_with(hub::limits::Limits::default(), true);
    let mut node = hub.enrolled("lime2");
    node.ends_now_after(1);
    node.begin("lime2");
    node.interval(&[9_000, 250_000], Some("timer interrupt"));
    node.send(&hub);
    let fleet = hub.get("/api/v1/fleet", "").json();
    let first = &fleet["nodes"][0];
    assert_eq!((first["name"].as_str(), first["attention"].as_str()), (Some("lime2"), Some("beyond-limit")), "{fleet}");
    assert_eq!(
        (first["latest"]["maximum-ns"].as_i64(), first["beyond"]["by-ns"].as_u64()),
        (Some(250_000), Some(150_000))
    );
    assert_eq!(hub.get(&format!("/api/v1/nodes/{}", node.key()), "").json(), *first);
    let history = hub.get(&format!("/api/v1/nodes/{}/history?last=6h&points=100", node.key()), "").json();
    assert_eq!(history["cpus"][1]["points"][0]["maximum-ns"].as_i64(), Some(250_000), "{history}");
    let status = hub.get("/api/v1/status", "").json();
    assert_eq!(status["beyond-limit"][0].as_str(), Some("lime2"));
    let of = |path: &str| hub.get(&format!("/api/v1/nodes/{path}"), "").status;
    let key = node.key();
    assert_eq!(of("lime2"), 404);
    assert_eq!(of(&"0".repeat(64)), 404);
    assert_eq!(of("..%2f..%2fetc%2fpasswd"), 404);
    for wrong in ["points=0", "points=x", "points=100000", "from=yesterday", "to=5", "from=9&to=5", "last=2d"] {
        assert_eq!(of(&format!("{key}/history?{wrong}")), 400, "{wrong}");
    }
    assert_eq!(of(&format!("{key}/history?from=1970-01-01T00:00:00Z&to={}", i64::MAX)), 200);
    assert_eq!(of(&format!("{key}/history?from={}&to={}", i64::MIN, i64::MAX)), 200);
}

#[test]
fn the_description_names_what_is_answered_and_its_forms_hold() {
    let hub = TestHub::start_with(hub::limits::Limits::default(), true);
    let mut node = hub.enrolled("lime2");
    node.begin("lime2");
    node.interval(&[9_000], None);
    node.send(&hub);
    let description = hub.get("/api/v1/openapi.json", "").json();
    let paths = description["paths"].as_object().unwrap();
    assert!(paths.len() >= 6);
    for (path, route) in paths {
        let filled = path.replace("{key}", &node.key().to_string());
        let answer = hub.get(&filled, "");
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        let content = route["get"]["responses"]["200"]["content"].as_object().unwrap();
        let content_type = content.keys().next().unwrap();
        assert!(answer.header("content-type").unwrap().starts_with(content_type.as_str()), "{path}");
        // Each field of a document is in its form.
        let Some(name) = content[content_type]["schema"]["$ref"].as_str() else { continue };
        let form = &description["components"]["schemas"][name.rsplit('/').next().unwrap()];
        let known: BTreeSet<&String> = form["properties"].as_object().unwrap().keys().collect();
        let document = answer.json();
        let said: BTreeSet<&String> = document.as_object().unwrap().keys().collect();
        assert!(said.is_subset(&known), "{path}: {said:?} of {known:?}");
    }
    assert!(description.get("security").is_none(), "a hub that is open to all asks for no session");
    // What a parameter's form allows is understood, and what lies just beyond it is refused.
    for (path, route) in paths {
        let filled = path.replace("{key}", &node.key().to_string());
        let parameters = route["get"]["parameters"].as_array().unwrap();
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
            let (name, form) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            let needs = if name == "to" { "from=1&" } else { "" };
            let status = |value: &str| hub.get(&format!("{filled}?{needs}{name}={value}"), "").status;
            let forms = form["anyOf"].as_array().map_or_else(|| vec![form], |all| all.iter().collect());
            for form in forms {
                let allowed = form["enum"].as_array().cloned().unwrap_or_default();
                assert!(allowed.iter().all(|word| status(word.as_str().unwrap()) == 200), "{path} {name}");
                if form["format"] == "date-time" {
                    assert_eq!(status("1996-12-19T16:39:57-08:00"), 200, "{path} {name}");
                }
                // What is before 'from', or after now, is no stretch of time.
                let is_moment = ["from", "to"].contains(&name);
                for (bound, step) in [("minimum", -1), ("maximum", 1)] {
                    let Some(bound) = form[bound].as_i64() else { continue };
                    assert!(is_moment || status(&bound.to_string()) == 200, "{path} {name}={bound}");
                    assert_eq!(status(&(i128::from(bound) + step).to_string()), 400, "{path} {name}={bound} + {step}");
                }
            }
            if name != "q" {
                for wrong in ["", "2x", "1.5", "%00"] {
                    assert_eq!(status(wrong), 400, "{path} {name}={wrong}");
                }
            }
        }
    }
    // Nothing is changed here.
    for method in ["POST", "PUT", "DELETE"] {
        use std::io::Write as _;
        let mut connection = std::net::TcpStream::connect(hub.running().people).unwrap();
        write!(connection, "{method} /api/v1/fleet HTTP/1.1\r\nHost: hub\r\nContent-Length: 0\r\n\r\n").unwrap();
        assert_eq!(crate::support::Answer::read(&mut connection).unwrap().status, 405);
    }
}
