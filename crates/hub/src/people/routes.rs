//! The one table of what can be read: the router is made of it, and so is the OpenAPI document.

use std::sync::Arc;

use axum::Router;
use axum::routing::{MethodRouter, get};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::documents::{Fleet, Node, NodeHistory, Status};
use super::handlers::{self, MOST_POINTS, USUAL_POINTS};
use super::parts::NodeHistograms;
use crate::hub::Hub;
use crate::pages::{SPANS, USUAL_SPAN};

/// A parameter of a route.
struct Parameter {
    name: &'static str,
    /// `path` or `query`.
    place: &'static str,
    /// Its JSON Schema: every value of this form is understood, and no other one.
    form: fn() -> Value,
    what: &'static str,
}

/// What a route answers.
enum Answer {
    /// A page.
    Page,
    /// A document of this form.
    Document(fn(&mut SchemaGenerator) -> Schema),
    /// The document that describes all of these.
    Description,
}

/// Something that can be read.
struct Route {
    path: &'static str,
    what: &'static str,
    parameters: &'static [Parameter],
    answer: Answer,
    handler: fn() -> MethodRouter<Arc<Hub>>,
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A moment: digits are ns since 1970.
fn moment_form() -> Value {
    json!({ "anyOf": [
        { "type": "string", "format": "date-time" },
        { "type": "integer", "format": "int64", "minimum": i64::MIN, "maximum": i64::MAX },
    ] })
}

const KEY: Parameter = Parameter {
    name: "key",
    place: "path",
    form: || json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
    what: "The node's public key: 64 hexadecimal digits.",
};
const WORDS: Parameter = Parameter {
    name: "q",
    place: "query",
    form: || json!({ "type": "string" }),
    what: "Only nodes in which all of these words occur: in name, state, version, place, labels or key.",
};
const SKIP: Parameter = Parameter {
    name: "skip",
    place: "query",
    form: || json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX, "default": 0 }),
    what: "How many nodes are left out, those that are to be looked at first: a page has 200.",
};
const LAST: Parameter = Parameter {
    name: "last",
    place: "query",
    form: || json!({ "type": "string", "enum": SPANS.map(|(word, ..)| word), "default": USUAL_SPAN }),
    what: "The last so and so long; with 'from' it says nothing.",
};
const FROM: Parameter = Parameter {
    name: "from",
    place: "query",
    form: moment_form,
    what: "From when: RFC 3339, or ns since 1970. It has to be before 'to'.",
};
const TO: Parameter = Parameter {
    name: "to",
    place: "query",
    form: moment_form,
    what: "Until when, which is not part of it; by default until now. It needs 'from'.",
};
const POINTS: Parameter = Parameter {
    name: "points",
    place: "query",
    form: || json!({ "type": "integer", "minimum": 1, "maximum": MOST_POINTS, "default": USUAL_POINTS }),
    what: "Points of a CPU at most: twice the pixels.",
};

const ROUTES: &[Route] = &[
    Route {
        path: "/",
        what: "All nodes, what is to be looked at first.",
        parameters: &[WORDS, SKIP],
        answer: Answer::Page,
        handler: || get(handlers::fleet_page),
    },
    Route {
        path: "/nodes/{key}",
        what: "A node over time.",
        parameters: &[KEY, LAST, FROM, TO],
        answer: Answer::Page,
        handler: || get(handlers::node_page),
    },
    Route {
        path: "/api/v1/fleet",
        what: "All nodes, what is to be looked at first.",
        parameters: &[WORDS],
        answer: Answer::Document(of::<Fleet>),
        handler: || get(handlers::fleet_document),
    },
    Route {
        path: "/api/v1/nodes/{key}",
        what: "A node and its latest.",
        parameters: &[KEY],
        answer: Answer::Document(of::<Node>),
        handler: || get(handlers::node_document),
    },
    Route {
        path: "/api/v1/nodes/{key}/history",
        what: "What was measured on a node in a stretch of time.",
        parameters: &[KEY, LAST, FROM, TO, POINTS],
        answer: Answer::Document(of::<NodeHistory>),
        handler: || get(handlers::history_document),
    },
    Route {
        path: "/api/v1/nodes/{key}/histograms",
        what: "The wake-ups of a node in a stretch of time, by whole hours that begin in it.",
        parameters: &[KEY, LAST, FROM, TO],
        answer: Answer::Document(of::<NodeHistograms>),
        handler: || get(handlers::histograms_document),
    },
    Route {
        path: "/api/v1/status",
        what: "How the hub does, and what is to be looked at.",
        parameters: &[],
        answer: Answer::Document(of::<Status>),
        handler: || get(handlers::status_document),
    },
    Route {
        path: "/api/v1/openapi.json",
        what: "What can be read here: this document.",
        parameters: &[],
        answer: Answer::Description,
        handler: || get(handlers::description),
    },
];

/// The router of what can be read.
pub(super) fn readable() -> Router<Arc<Hub>> {
    ROUTES.iter().fold(Router::new(), |router, route| router.route(route.path, (route.handler)()))
}

/// The OpenAPI document, of a hub whose pages are open to all or take a session.
pub(super) fn open_api(is_public: bool) -> Value {
    let mut generator = SchemaSettings::openapi3().for_serialize().into_generator();
    let mut paths = Map::new();
    for route in ROUTES {
        let content = match route.answer {
            Answer::Page => json!({ "text/html": {} }),
            Answer::Document(schema) => json!({ "application/json": { "schema": schema(&mut generator) } }),
            Answer::Description => json!({ "application/json": { "schema": { "type": "object" } } }),
        };
        let parameter = |parameter: &Parameter| {
            json!({
                "name": parameter.name,
                "in": parameter.place,
                "required": parameter.place == "path",
                "description": parameter.what,
                "schema": (parameter.form)(),
            })
        };
        let mut responses = json!({
            "200": { "description": "It is answered.", "content": content },
            "304": { "description": "It is as it was (If-None-Match)." },
            "503": { "description": "The hub cannot read its store." },
        });
        if !is_public {
            let why = "No session: 'punctual-hub link' prints a link that makes one.";
            responses["401"] = json!({ "description": why });
        }
        if !route.parameters.is_empty() {
            responses["400"] = json!({ "description": "A parameter is not understood." });
        }
        if route.parameters.iter().any(|parameter| parameter.place == "path") {
            responses["404"] = json!({ "description": "There is no such node." });
        }
        let operation = json!({
            "summary": route.what,
            "parameters": route.parameters.iter().map(parameter).collect::<Vec<_>>(),
            "responses": responses,
        });
        paths.insert(route.path.to_owned(), json!({ "get": operation }));
    }
    let mut document = json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Punctual's hub",
            "description": "What a hub knows of its nodes. Everything is read; changes are commands on the hub's machine.",
            "version": env!("CARGO_PKG_VERSION"),
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
        },
    });
    if !is_public {
        document["components"]["securitySchemes"] =
            json!({ "session": { "type": "apiKey", "in": "cookie", "name": "punctual-session" } });
        document["security"] = json!([{ "session": [] }]);
    }
    document
}
