//! The contract of a store, held for each implementation, and what is SQLite's own.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod between;
mod drawn;
mod fleet;
mod known;
mod people;
mod reading;
mod size;
mod sqlite;
mod support;
mod taking;
mod year;

/// The contract: each of these is a test of each implementation, given how a fresh store is made.
macro_rules! contract {
    ($($fresh:ident: $($module:ident::$test:ident),* $(,)?;)*) => {
        $(mod $fresh {
            $(#[test]
            fn $test() {
                crate::$module::$test(&crate::support::$fresh);
            })*
        })*
    };
}

contract! {
    fresh_sqlite:
        people::a_token_enrols_one_node_and_answers_it_again,
        people::names_are_unique_and_steer_nothing,
        people::changes_are_logged_and_read_back,
        people::a_life_of_the_hub_is_raised_and_ends_open_tokens,
        people::a_restored_hub_takes_a_node_back,
        people::the_latest_backup_is_known_by_the_log,
        taking::a_batch_is_answered_with_the_end_of_what_is_held,
        taking::nothing_of_a_refused_batch_stays_and_others_are_taken,
        taking::another_history_is_told_and_its_common_end_found,
        taking::quotas_are_for_a_day,
        taking::what_is_not_known_is_kept_and_a_content_read_back,
        drawn::whatever_arrives_in_whatever_order_the_model_holds_the_same,
        reading::tiers_are_what_their_rows_make_of_them,
        reading::a_history_has_at_most_so_many_points_and_every_maximum,
        reading::boots_of_1970_are_placed_by_their_receipt,
        reading::histograms_of_hours_add_up,
        reading::histograms_of_old_hours_become_those_of_days_and_count_once,
        reading::gaps_have_their_reason,
        year::a_year_of_clocks_is_placed_within_its_error,
        between::the_time_between_starts_is_told_by_what_the_node_announced_in_any_order,
        between::a_boot_without_a_place_in_time_leaves_the_gap_unknown,
        fleet::a_node_s_state_is_what_it_said_last,
        fleet::a_maximum_beyond_its_limit_is_told_and_ranked_against_the_node_s_own,
        fleet::a_maximum_beyond_its_limit_is_told_for_a_day,
        fleet::a_node_that_catches_up_is_not_monitoring,
        size::a_cpu_and_interval_takes_at_most_eight_bytes_at_rest,
        size::with_the_cause_of_each_it_takes_at_most_ten;
}
