//! What is said of one run: how far it can be trusted, what of it stands, its verdict, and the table of its series.

mod bursts;
mod coverage;
mod series;
mod spoiled;
mod validity;
mod verdict;
mod worst;

pub use self::bursts::{Burst, bursts};
pub use self::coverage::{Coverage, coverage};
pub use self::series::{Figures, GapFigures, SeriesSummary, lane, series, stated_missed};
pub use self::spoiled::{SpoiledRow, SpoiledSummary, rows as spoiled_rows, spoiled};
pub use self::validity::{ReasonSummary, ValiditySummary, validity};
pub use self::verdict::{VerdictSummary, verdict};
pub use self::worst::{WorstSummary, cause_words, worst};
