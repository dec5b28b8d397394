//! What a file of the kernel's shows after a write, and what it refuses: where a tree of files stands for a machine, it has
//! to be as strict.

use units::CpuSet;

use super::form::{Form, chosen, switch};

/// What the kernel says of a text that it does not take.
const INVALID: &str = "Invalid argument (os error 22)";
/// What it says of a mask with more CPUs than it has.
const OVERFLOW: &str = "Value too large for defined data type (os error 75)";

impl Form {
    /// What a file that showed `stood` shows after `written` was written to it.
    ///
    /// # Errors
    /// Where the kernel refuses such a text, in its words: among them every text that is written as it was shown, if
    /// that is not how it is taken.
    pub fn answer(self, stood: &str, written: &str) -> Result<String, &'static str> {
        let end = if stood.ends_with('\n') { "\n" } else { "" };
        let (stood, written) = (stood.trim_end_matches('\n'), written.trim_ascii());
        let shown = match self {
            Self::Chosen => choice(stood, written)?,
            Self::Switch => switched(stood, written)?,
            Self::Integer | Self::Rounded => integer(written)?,
            Self::CpuMask => mask(stood, written)?,
            Self::CpuList => written.parse::<CpuSet>().map_err(|_| INVALID)?.to_string(),
            Self::Partition if ["member", "root", "isolated"].contains(&written) => written.to_owned(),
            Self::Partition => return Err(INVALID),
            Self::AsShown if chosen(stood).is_some() => choice(stood, written)?,
            Self::AsShown if matches!(stood, "Y" | "N") => switched(stood, written)?,
            Self::AsShown => words(stood, written),
            Self::Text | Self::FirstWord => written.to_owned(),
        };
        Ok(shown + end)
    }
}

/// Another word in the brackets, or the one that is in them already.
fn choice(stood: &str, written: &str) -> Result<String, &'static str> {
    let Some(before) = chosen(stood) else {
        // A single word has no brackets.
        return if written.contains([' ', '[']) { Err(INVALID) } else { Ok(written.to_owned()) };
    };
    let has_brackets = stood.contains('[');
    let (open, close) = if has_brackets { ('[', ']') } else { ('(', ')') };
    let in_brackets = |word: &str| format!("{open}{word}{close}");
    let words: Vec<&str> =
        stood.split(' ').map(|word| if word == in_brackets(before) { before } else { word }).collect();
    if !words.contains(&written) {
        return Err(INVALID);
    }
    let shown = words.iter().map(|word| if *word == written { in_brackets(word) } else { (*word).to_owned() });
    Ok(shown.collect::<Vec<_>>().join(" "))
}

fn switched(stood: &str, written: &str) -> Result<String, &'static str> {
    let on = switch(written).ok_or(INVALID)?;
    let word = match (matches!(stood, "Y" | "N"), on) {
        (true, "1") => "Y",
        (true, _) => "N",
        (false, on) => on,
    };
    Ok(word.to_owned())
}

fn integer(written: &str) -> Result<String, &'static str> {
    written.parse::<i128>().map(|number| number.to_string()).map_err(|_| INVALID)
}

/// As wide as before, in groups of 32 CPUs.
fn mask(stood: &str, written: &str) -> Result<String, &'static str> {
    if written.split(',').any(|group| group.is_empty() || group.len() > 8) {
        return Err(OVERFLOW);
    }
    let cpus = CpuSet::from_mask(written).ok_or(INVALID)?;
    let digits: String = cpus.to_mask().replace(',', "");
    let width = stood.chars().filter(char::is_ascii_hexdigit).count();
    if digits.len() > width {
        return Err(OVERFLOW);
    }
    let padded = format!("{digits:0>width$}");
    let mut shown = String::new();
    for (place, digit) in padded.chars().enumerate() {
        if place > 0 && (width - place) % 8 == 0 {
            shown.push(',');
        }
        shown.push(digit);
    }
    Ok(shown)
}

/// Those that were not written stay.
fn words(stood: &str, written: &str) -> String {
    let count = written.split_ascii_whitespace().count();
    let mut words: Vec<&str> = written.split_ascii_whitespace().collect();
    words.extend(stood.split_ascii_whitespace().skip(count));
    match written.parse::<CpuSet>() {
        Ok(cpus) if words.len() == 1 && !cpus.is_empty() => cpus.to_string(),
        _ => words.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::catalogue::{self, Values};
    use crate::place::Value;

    #[track_caller]
    fn check(form: Form, stood: &str, written: &str, expected: Result<&str, &'static str>) {
        assert_eq!(form.answer(stood, written).as_deref(), expected.as_ref().map(|shown| *shown), "{form:?} {stood}");
    }

    #[test]
    fn it_shows_and_refuses_what_the_kernel_does() {
        let huge = "always [madvise] never\n";
        check(Form::Chosen, huge, "never", Ok("always madvise [never]\n"));
        check(Form::Chosen, huge, "always [madvise] never", Err(INVALID));
        check(Form::Chosen, huge, "defer", Err(INVALID));
        check(Form::AsShown, "[mq-deadline] none", "none", Ok("mq-deadline [none]"));
        check(Form::AsShown, "none voluntary (full) lazy", "lazy", Ok("none voluntary full (lazy)"));
        check(Form::AsShown, "[mq-deadline] none", "[mq-deadline] none", Err(INVALID));
        check(Form::AsShown, "max 100000", "50000", Ok("50000 100000"));
        check(Form::AsShown, "4096\t87380\t6291456", "1 2", Ok("1 2 6291456"));
        check(Form::Switch, "N\n", "1", Ok("Y\n"));
        check(Form::Switch, "1\n", "0", Ok("0\n"));
        check(Form::CpuMask, "f\n", "3", Ok("3\n"));
        check(Form::CpuMask, "f\n", "0-1", Err(INVALID));
        check(Form::CpuMask, "f\n", "13", Err(OVERFLOW));
        check(Form::CpuMask, "00ff,ffffffff\n", "c", Ok("0000,0000000c\n"));
        check(Form::CpuMask, "00ff,ffffffff\n", "1,00000000", Ok("0001,00000000\n"));
        check(Form::CpuList, "0-3\n", "2,3", Ok("2-3\n"));
        check(Form::CpuList, "0-3\n", "f", Err(INVALID));
        check(Form::Integer, "60\n", "60 % of all", Err(INVALID));
        check(Form::Partition, "member", "isolated", Ok("isolated"));
        check(
            Form::Partition,
            "isolated invalid (Parent is not a partition root)",
            "isolated invalid (x)",
            Err(INVALID),
        );
    }

    /// What a file of a knob shows, on a machine of four CPUs, for some value that the knob takes.
    fn shown(values: Values, form: Form, draw: usize) -> String {
        let number = |least: i64, most: i64| match draw % 4 {
            0 => least,
            1 => most,
            2 => least + (most - least) / 2,
            _ => (least + 1).min(most),
        };
        let in_words = |words: &[&str], word: &str| match form {
            Form::Chosen => {
                let all = words.iter().map(|one| if *one == word { format!("[{one}]") } else { (*one).to_owned() });
                all.collect::<Vec<_>>().join(" ")
            }
            _ => word.to_owned(),
        };
        match values {
            Values::Integer(least, most) => number(least, most).to_string(),
            Values::WordOrInteger(word, ..) if draw % 5 == 4 => word.to_owned(),
            Values::WordOrInteger(_, least, most) => number(least, most).to_string(),
            Values::Words(words) => in_words(words, words[draw % words.len()]),
            Values::Switch => (draw % 2).to_string(),
            Values::Cpus | Values::CpusOrNone => {
                let least = usize::from(values == Values::Cpus);
                let bits = least + draw % (16 - least);
                let cpus: CpuSet = (0..4_u32).filter(|cpu| bits >> cpu & 1 == 1).collect();
                if form == Form::CpuList { cpus.to_string() } else { format!("{bits:x}") }
            }
        }
    }

    proptest! {
        /// Each value of each knob, from each other one, and back: what the kernel showed is what it shows again.
        #[test]
        fn what_a_file_showed_can_be_written_back(before in 0_usize..64, other in 0_usize..64) {
            for knob in catalogue::all() {
                let [stood, then] = [before, other].map(|draw| shown(knob.values, knob.form, draw) + "\n");
                let order = |text: &str| match knob.form.order(&Value::text(text)).value() {
                    Value::Text(text) => text.clone(),
                    Value::Absent => String::new(),
                };
                let after = knob.form.answer(&stood, &order(&then));
                prop_assert_eq!(after.as_deref(), Ok(then.as_str()), "{}", knob.name);
                prop_assert_eq!(knob.form.answer(&then, &order(&stood)), Ok(stood), "{}", knob.name);
            }
        }

        /// Texts of any kind neither panic nor are the same as what they are not.
        #[test]
        fn foreign_texts_are_taken_as_they_are(a in "\\PC{0,40}", b in "[ \\[\\]()0-9a-fx,YNn/-]{0,30}") {
            const FORMS: [Form; 10] = [
                Form::Text, Form::Integer, Form::Rounded, Form::FirstWord, Form::CpuList, Form::CpuMask, Form::Chosen,
                Form::Switch, Form::Partition, Form::AsShown,
            ];
            for form in FORMS {
                for text in [&a, &b] {
                    let value = Value::text(text.clone());
                    prop_assert!(form.same(&value, &value));
                    let _ = form.shown(&value);
                    let Value::Text(written) = form.order(&value).value().clone() else { continue };
                    // A person's value and the same value read back are one order.
                    prop_assert_eq!(form.written(&written), written.clone(), "{:?} {:?}", form, text);
                    let _ = form.answer(&a, &written).and_then(|shown| form.answer(&shown, &b));
                }
            }
        }
    }
}
