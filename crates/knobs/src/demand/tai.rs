//! TAI less UTC: what makes CLOCK_TAI, on which etf and taprio act, differ from CLOCK_REALTIME.
//!
//! Services set it only in part: linuxptp where the grand master's is valid and traceable, chrony where it has a list of leap
//! seconds, which clients of a smearing server must not have (chrony.conf(5), leapsectz). So it is a setting of its own, and
//! restored like one.

use super::{Demand, Group, RequiredSetting, Site};
use crate::time::{StatedTai, TimeIntent, TimeRole, day};
use crate::{Form, Place, Value};

const COST: &str =
    "CLOCK_TAI is set once: threads that sleep on it, and packets that wait for a time on it, are early or late then";

impl Demand {
    /// What is wanted of the kernel's value.
    pub(super) fn tai_offset(&mut self, intent: &TimeIntent, in_hardware: bool, site: &Site) {
        let leaves_system_clock =
            intent.profile.is_ptp() && in_hardware && !intent.system_clock && intent.role != TimeRole::Give;
        if leaves_system_clock && intent.tai_less_utc_s.is_none() {
            return;
        }
        let by_linuxptp = if intent.profile.is_ptp() {
            "; linuxptp sets that itself only where the grand master's is valid and traceable"
        } else {
            ""
        };
        let (seconds, from) = match (intent.tai_less_utc_s, site.time.stated_tai()) {
            (Some(seconds), stated) => {
                if let Some(stated) = stated.ok().filter(|stated| stated.tai_less_utc_s != seconds) {
                    let StatedTai { tai_less_utc_s, path, expires_s } = stated;
                    self.notes.push(format!(
                        "tai-less-utc is {seconds} s, and {path} states {tai_less_utc_s} s until {}",
                        day(expires_s)
                    ));
                }
                (seconds, "the intent".to_owned())
            }
            (None, Ok(StatedTai { tai_less_utc_s, path, expires_s })) => {
                (tai_less_utc_s, format!("{path}, complete until {}", day(expires_s)))
            }
            (None, Err(why)) => {
                let now = match site.profile.time.discipline {
                    Some(now) => format!("The kernel's stays at {} s", now.tai_less_utc_s),
                    None => "The kernel's stays as it is".to_owned(),
                };
                let by_ptp4l = if intent.profile.is_ptp() {
                    "ptp4l takes a number of its own until a grand master states one. "
                } else {
                    ""
                };
                self.notes.push(format!(
                    "TAI less UTC is not known: {why}. {now}, and CLOCK_TAI with it: etf and taprio may act on a wrong time. \
                     {by_ptp4l}Renew the package tzdata, or write tai-less-utc."
                ));
                return;
            }
        };
        // Before 5.2 the kernel passes over 0 (kernel/time/ntp.c, process_adjtimex_modes()).
        let keeps = site.profile.kernel.at_least(5, 2) == Some(false)
            && site.profile.time.discipline.is_some_and(|now| now.tai_less_utc_s == 0);
        if keeps {
            self.notes
                .push("this kernel does not take TAI less UTC back to 0: it stays until the next start".to_owned());
        }
        self.push(RequiredSetting {
            knob: "time.tai-less-utc".to_owned(),
            of: String::new(),
            place: Place::TaiOffset,
            form: Form::Integer,
            value: Value::Text(seconds.to_string()),
            group: Group::TaiOffset,
            why: format!(
                "CLOCK_TAI, on which etf and taprio act, is ahead of UTC by {seconds} s ({from}){by_linuxptp}"
            ),
            cost: COST.to_owned(),
            may_refuse: keeps,
            is_named: true,
            in_new_folder: false,
        });
    }
}
