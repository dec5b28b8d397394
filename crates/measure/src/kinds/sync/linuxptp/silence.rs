//! When a service that is asked again and again counts as silent.

/// Time without an answer after which it does (ns), if it was asked often enough in that time.
const GONE_NS: i64 = 1_500_000_000;
/// Looks at which it was asked without an answer. Where the whole machine stood still, or this program had no CPU, time alone
/// says nothing: between two looks an answer that waits is read.
const LEAST_LOOKS: u32 = 4;

/// What was asked since the last answer.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// When the first question was asked that has no answer (ns of the uncorrected clock).
    since_ns: Option<i64>,
    looks: u32,
}

impl Silence {
    /// Questions were asked at a look (ns of the uncorrected clock).
    pub(super) fn asked(&mut self, now_ns: i64) {
        self.since_ns.get_or_insert(now_ns);
        self.looks = self.looks.saturating_add(1);
    }

    /// Something was answered.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// Whether it counts as silent now (ns of the uncorrected clock).
    pub(super) fn is_long(&self, now_ns: i64) -> bool {
        self.looks >= LEAST_LOOKS && self.since_ns.is_some_and(|since_ns| now_ns - since_ns > GONE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks of a length that are not answered until it counts as silent.
    fn looks_until_silent(apart_ns: i64) -> i64 {
        let mut silence = Silence::default();
        (0..100)
            .find(|look| {
                let is_long = silence.is_long(look * apart_ns);
                silence.asked(look * apart_ns);
                is_long
            })
            .unwrap()
    }

    #[test]
    fn it_is_silent_after_a_time_and_several_questions_however_far_apart_those_are() {
        assert_eq!(looks_until_silent(250_000_000), 7);
        // Looks more than a second apart, of a program that hardly gets a CPU, tell it too.
        assert_eq!(looks_until_silent(1_200_000_000), 4);
        assert_eq!(looks_until_silent(60_000_000_000), 4);
    }

    #[test]
    fn a_machine_that_stood_still_makes_no_silence() {
        let mut silence = Silence::default();
        silence.asked(0);
        assert!(!silence.is_long(3_000_000_000), "asked once before it, and answered after it");
        silence.asked(3_000_000_000);
        assert!(!silence.is_long(3_250_000_000));
        silence.answered();
        silence.asked(3_250_000_000);
        assert!(!silence.is_long(4_900_000_000));
    }
}
