//! A campaign on the plain page.

use std::fmt::Write as _;

use campaign::result::{Answer, CampaignResult, Figure};
use summary::campaign::{BarRow, bars};

use super::escape;
use super::table::{self, Column};

/// Writes the answers of a campaign with their reasons, and its figures as tables.
pub(super) fn plain_campaign(page: &mut String, result: &CampaignResult) {
    let _ = writeln!(page, "<p>{}</p>", escape(&result.about));
    answers(page, "Against the first condition", &result.answers);
    answers(page, "The winners together, measured again", &result.confirmation);
    for figure in &result.figures {
        plain_figure(page, figure);
    }
    for note in &result.notes {
        let _ = writeln!(page, "<p>{}</p>", escape(note));
    }
}

fn answers(page: &mut String, title: &str, answers: &[Answer]) {
    if answers.is_empty() {
        return;
    }
    let _ = writeln!(page, "<section><h2>{title}</h2>");
    let columns = ["condition", "measurement", "answer", "why"].map(Column::Words);
    let row = |answer: &Answer| {
        let Answer { condition, measurement, state, sentence, .. } = answer;
        [condition, measurement, state.word(), sentence].map(|cell| Some(cell.to_owned())).into()
    };
    table::plain(page, &columns, answers.iter().map(row));
    page.push_str("</section>\n");
}

fn plain_figure(page: &mut String, figure: &Figure) {
    let _ = writeln!(page, "<section><h2>{}</h2>", escape(&figure.title));
    let columns = [
        Column::Words("condition"),
        Column::Figures("runs"),
        Column::Figures("samples"),
        Column::Figures("min"),
        Column::Figures("mean"),
        Column::Figures("sd"),
        Column::Figures("max"),
        Column::Figures("maxima of runs"),
    ];
    let row = |BarRow { condition, runs, samples, min, mean, sd, max, maxima }| {
        let [condition, runs, samples, min, mean, max] = [condition, runs, samples, min, mean, max].map(Some);
        vec![condition, runs, samples, min, mean, sd, max, Some(maxima.join(", "))]
    };
    table::plain(page, &columns, bars(figure).into_iter().map(row));
    page.push_str("</section>\n");
}
