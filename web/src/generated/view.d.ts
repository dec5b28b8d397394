/* Generated from view.schema.json by `npm run types`. Do not edit. */

/**
 * A whole number: a JSON number where that is exact, else its decimal digits as text
 */
export type Exact = number | string;
/**
 * The difference that a question is about.
 */
export type GateSize =
  | {
      ns: number;
    }
  | {
      percent: number;
    };
/**
 * Nanoseconds since 1970-01-01 UTC, as decimal text
 */
export type Instant = string;

/**
 * All that a page shows.
 */
export interface View {
  generated: GeneratedView;
  headline: HeadlineView;
  /**
   * What it tells of.
   */
  page:
    | {
        kind: "runs";
        results: ResultsView;
      }
    | {
        assessment: AssessmentView;
        kind: "assessment";
        results: ResultsView1;
      }
    | {
        kind: "program";
        results: ResultsView2;
      }
    | {
        /**
         * Both of them; null where one has no run.
         */
        comparison?: ComparisonView | null;
        kind: "comparison";
      }
    | {
        campaign: CampaignView;
        kind: "campaign";
      }
    | {
        calibration: CalibrationView;
        kind: "calibration";
      };
  /**
   * `punctual/view`.
   */
  schema: string;
  /**
   * The name that the page bears.
   */
  title: string;
  /**
   * Version of the schema.
   */
  version: number;
}
/**
 * By what it was made, and when.
 */
export interface GeneratedView {
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
  /**
   * The zone in which to show it.
   */
  time_zone?: string | null;
  /**
   * Program and version.
   */
  tool: string;
}
/**
 * The first thing that a reader sees.
 */
export interface HeadlineView {
  /**
   * The limit (ns).
   */
  deadline_ns?: Exact | null;
  /**
   * Lines under it.
   */
  lines: string[];
  /**
   * One sentence with the number that decides it.
   */
  sentence: string;
  /**
   * Which shape and word stand before the sentence.
   */
  state: "holds" | "broken" | "cannot-tell" | "no-deadline" | "empty";
  /**
   * One or two words: "Holds".
   */
  word: string;
}
/**
 * What was measured.
 */
export interface ResultsView {
  /**
   * The gravest first.
   */
  findings: Finding[];
  /**
   * Everything that was read from the node.
   */
  profile?: {
    [k: string]: unknown;
  };
  /**
   * The runs in the order in which they are shown.
   */
  runs: RunView[];
  /**
   * How bad it can get: what each wake-up run says of the time to come, those under load first.
   */
  tails: TailView[];
}
/**
 * Something about a machine or a program that stands in the way of acting on time.
 */
export interface Finding {
  /**
   * What was read or seen, and where.
   */
  evidence: Evidence[];
  /**
   * The finding's name, for `punctual explain`.
   */
  id: string;
  /**
   * How to change it, one step or alternative per entry.
   */
  remedy: string[];
  /**
   * How much it matters.
   */
  severity: "problem" | "warning" | "note";
  /**
   * What was found, in one line.
   */
  title: string;
  /**
   * Why it matters.
   */
  why: string;
}
/**
 * What was read or seen, and where.
 */
export interface Evidence {
  /**
   * The file, parameter or question to a driver; of a program the thread, process or file.
   */
  source: string;
  /**
   * What it said, or what was seen there.
   */
  value: string;
}
/**
 * One run.
 */
export interface RunView {
  /**
   * The limit (ns).
   */
  deadline_ns?: Exact | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  duration_ns: number | string;
  /**
   * What made the worst samples late; absent where nobody asked.
   */
  explanation?: ExplanationView | null;
  /**
   * Its unique name.
   */
  id: string;
  /**
   * From one schedule to the next (ns).
   */
  interval_ns?: Exact | null;
  /**
   * A word for people: `idle`, `under paper load`.
   */
  label: string;
  /**
   * What the program that measured does not tell, in plain words; empty for this program's own runs.
   */
  lacks: string[];
  /**
   * What the load did, where it is made of parts.
   */
  load?: LoadView | null;
  /**
   * Whether anything else ran on purpose.
   */
  loaded: boolean;
  /**
   * What was asked, granted and around.
   */
  manifest: {
    [k: string]: unknown;
  };
  /**
   * `wakeup`, `clock`, `noise`.
   */
  measurement: string;
  /**
   * Host name.
   */
  node: string;
  /**
   * What this machine gives no means to see, in words; it makes no run worse.
   */
  not_observable: string[];
  /**
   * A user's own program that was followed, where the run is one of `app`.
   */
  program?: ProgramView | null;
  /**
   * Why, the worst first.
   */
  reasons: ReasonView[];
  /**
   * Periods among the late samples; absent where nobody looked for them.
   */
  rhythm?: RhythmScanView | null;
  /**
   * The longest rows of missed or late periods, longest first.
   */
  rows: RowView[];
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  samples: number | string;
  /**
   * One for each measuring thread and variant.
   */
  series: SeriesView[];
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  started_realtime_ns: string;
  /**
   * How far it can be trusted.
   */
  state: "valid" | "degraded" | "invalid";
  /**
   * The node's time zone, an IANA name.
   */
  time_zone?: string | null;
  /**
   * What it says of the deadline.
   */
  verdict?: VerdictView | null;
  /**
   * The worst samples, worst first.
   */
  worst: WorstView[];
}
/**
 * What a run knows of the causes of its worst samples.
 */
export interface ExplanationView {
  /**
   * That of the most samples first.
   */
  causes: CauseView[];
  /**
   * What to change first; absent where no cause was found.
   */
  change?: CauseChangeView | null;
  /**
   * What explaining costs, in a line; absent where it was not measured.
   */
  cost?: string | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  explained: number | string;
  /**
   * Which samples were looked at: `samples above 50.0 us`.
   */
  looked_at: string;
  /**
   * What would show more, and what it takes.
   */
  missing: string[];
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  not_recorded: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  outliers: number | string;
  /**
   * Every wake-up in its parts; absent where they were not recorded.
   */
  parts?: PartsView | null;
  /**
   * The worst of the explained samples, worst first.
   */
  samples: ExplainedSampleView[];
  /**
   * What made most of the worst late and how sure that is, or why nothing can be said.
   */
  sentence: string;
  /**
   * How samples divide among the causes, once for each kind of samples.
   */
  shares: ShareView[];
  /**
   * Where the evidence comes from; empty where nothing could be seen.
   */
  sources: string[];
  /**
   * What a CPU did in any of the timelines.
   */
  stretches: StretchView[];
}
/**
 * One cause, summed over the run.
 */
export interface CauseView {
  /**
   * How sure that is: that of its least sure sample.
   */
  certainty: "shown" | "likely" | "unknown";
  /**
   * Its class.
   */
  class:
    | "interrupts-off"
    | "preemption-off"
    | "interrupt"
    | "softirq"
    | "thread"
    | "timer-function"
    | "nmi"
    | "smi"
    | "idle-exit"
    | "frequency"
    | "page-fault"
    | "migration"
    | "throttle"
    | "steal"
    | "unknown";
  /**
   * Finding of `check` that tells more.
   */
  finding?: string | null;
  /**
   * The interrupt, the thread, the function, the idle state; empty where there is none.
   */
  name: string;
  /**
   * What to change.
   */
  remedy: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  samples: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  took_ns: number | string;
  /**
   * The class in words.
   */
  words: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  worst_ns: number | string;
}
/**
 * What to change.
 */
export interface CauseChangeView {
  /**
   * Finding of `check` that tells more.
   */
  finding?: string | null;
  /**
   * In words.
   */
  remedy: string;
}
/**
 * Every wake-up of a run in its parts, over all threads.
 */
export interface PartsView {
  /**
   * The parts, in the order of time.
   */
  rows: PartRowView[];
  /**
   * How many wake-ups that holds, and how many more there were.
   */
  sentence: string;
}
/**
 * One part of all wake-ups.
 */
export interface PartRowView {
  /**
   * The longest (ns); absent where none was recorded.
   */
  max_ns?: Exact | null;
  /**
   * Half of the wake-ups stay within this (ns); absent where none was recorded.
   */
  median_ns?: Exact | null;
  /**
   * Its name by its two points.
   */
  name: string;
  /**
   * 99.9 % of them stay within this (ns); absent where none was recorded.
   */
  p999_ns?: Exact | null;
  /**
   * From where to where, in words.
   */
  words: string;
}
/**
 * A late sample with its timeline and its cause.
 */
export interface ExplainedSampleView {
  /**
   * How sure that is.
   */
  certainty: "shown" | "likely" | "unknown";
  /**
   * The class of the cause.
   */
  class:
    | "interrupts-off"
    | "preemption-off"
    | "interrupt"
    | "softirq"
    | "thread"
    | "timer-function"
    | "nmi"
    | "smi"
    | "idle-exit"
    | "frequency"
    | "page-fault"
    | "migration"
    | "throttle"
    | "steal"
    | "unknown";
  /**
   * The CPU.
   */
  cpu: number;
  /**
   * The evidence, in words.
   */
  evidence: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  latency_ns: number | string;
  /**
   * What of that was left out, in a sentence; absent where nothing was.
   */
  left_out?: string | null;
  /**
   * Its name.
   */
  name: string;
  /**
   * What took the time, the longest first.
   */
  parts: DelayPartView[];
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  parts_left_out: number | string;
  scheduled: MomentView;
  /**
   * Functions that led to where the timer's interrupt was taken at last, the innermost first.
   */
  stack: string[];
  /**
   * Which thread, from 0.
   */
  thread: number;
  timeline: TimelineView;
  /**
   * The class in words.
   */
  words: string;
}
/**
 * A share of a sample's latency.
 */
export interface DelayPartView {
  /**
   * Its name.
   */
  name: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  net_ns: number | string;
  /**
   * Its class in words.
   */
  words: string;
}
/**
 * When the thread was scheduled to wake.
 */
export interface MomentView {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * What the CPU did around it.
 */
export interface TimelineView {
  /**
   * How many others it interrupts.
   */
  depth: number[];
  /**
   * Start of each (ns; negative before the schedule).
   */
  from_ns: Exact[];
  /**
   * Its time without what interrupted it (ns).
   */
  net_ns: Exact[];
  /**
   * Which of the explanation's stretches, from 0.
   */
  stretch: number[];
  /**
   * End of each (ns).
   */
  to_ns: Exact[];
}
/**
 * How samples of one kind divide among the causes.
 */
export interface ShareView {
  /**
   * Of these, those of each cause, in the order of the causes.
   */
  causes: Exact[];
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  not_explained: number | string;
  /**
   * Which samples: `above the deadline of 100 us`.
   */
  of: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  total: number | string;
}
/**
 * Something that a CPU did.
 */
export interface StretchView {
  /**
   * What it was.
   */
  activity: "idle" | "thread" | "measuring" | "softirq" | "interrupt" | "timer-function" | "nmi" | "untold";
  /**
   * Which.
   */
  name: string;
}
/**
 * A load that is made of parts.
 */
export interface LoadView {
  /**
   * The time in which the turn passed on; absent where no turns were taken.
   */
  between?: LoadTurnView | null;
  /**
   * Its name.
   */
  name: string;
  /**
   * Its parts, those that did not run too.
   */
  parts: LoadPartView[];
  /**
   * What is to be concluded of the turns, in whole sentences.
   */
  sentences: string[];
  /**
   * Part of the time for which its programs were let run (above 0, up to 1).
   */
  share?: number | null;
  /**
   * Which parts ran when; empty where all ran all the time.
   */
  turns: LoadTurnView[];
}
/**
 * What was seen while certain parts ran.
 */
export interface LoadTurnView {
  /**
   * Samples beyond the deadline; absent where none was stated.
   */
  beyond?: Exact | null;
  /**
   * From the run's first schedule to the turn's start (ns, below zero where it began before); absent for the time
   * between turns.
   */
  from_offset_ns?: Exact | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  missed_periods: number | string;
  /**
   * The part, or parts.
   */
  name: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  observed_ns: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  samples: number | string;
  /**
   * To its end (ns).
   */
  to_offset_ns?: Exact | null;
  /**
   * The CPU on which it happened.
   */
  worst_cpu?: number | null;
  /**
   * The worst latency (ns).
   */
  worst_ns?: Exact | null;
}
/**
 * One part of a load.
 */
export interface LoadPartView {
  /**
   * What it did while it was its turn, in words: `61 493 packets received a second`.
   */
  achieved: string[];
  /**
   * CPU time that it used while it was its turn, in CPUs.
   */
  cpu_used?: number | null;
  /**
   * Why it did not run, in words; absent where it did.
   */
  dropped?: string | null;
  /**
   * What it had to do without, in words.
   */
  lacks: string[];
  /**
   * Its name.
   */
  name: string;
}
/**
 * A program that was followed.
 */
export interface ProgramView {
  cost: FollowingCostView;
  /**
   * How it ended; absent where it outlived the run.
   */
  ended?: string | null;
  /**
   * Its threads.
   */
  threads: FollowedThreadView[];
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  threads_left_out: number | string;
  /**
   * Its command, or the process that was named.
   */
  what: string;
}
/**
 * What following cost.
 */
export interface FollowingCostView {
  /**
   * What one event costs the thread that makes it (ns).
   */
  event_ns?: Exact | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  events: number | string;
  /**
   * Events for each activation.
   */
  events_per_activation?: number | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  lost_events: number | string;
  /**
   * CPU time for reading them, in CPUs.
   */
  own_cpu: number;
  /**
   * From the event of a sleep's return to a reading of the clock in user space (ns).
   */
  return_ns?: Exact | null;
}
/**
 * One followed thread.
 */
export interface FollowedThreadView {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  activations: number | string;
  /**
   * Whether it ended during the run.
   */
  ended: boolean;
  /**
   * Schedules that late wake-ups swallowed; absent where its moments are not known.
   */
  missed_periods?: Exact | null;
  /**
   * The last name that it had.
   */
  name: string;
  /**
   * Its period (ns); absent where it has none.
   */
  period_ns?: Exact | null;
  periods: HistogramView;
  /**
   * Scheduling policy by its name.
   */
  policy: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  preempted: number | string;
  /**
   * Who got the CPU then, the longest in all first.
   */
  preempted_by: PreemptionView[];
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  preempted_ns: number | string;
  /**
   * Real-time priority, 0 where the policy has none.
   */
  priority: number;
  /**
   * Which thread of the series.
   */
  thread: number;
  /**
   * Its kernel id.
   */
  tid: number;
  /**
   * What its loop waits for; absent where no loop was recognised.
   */
  waits_by?: string | null;
}
/**
 * The distances from one activation to the next.
 */
export interface HistogramView {
  bins: Bins;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  count: number | string;
  /**
   * Exact largest (ns).
   */
  max_ns?: Exact | null;
  /**
   * Mean (ns).
   */
  mean_ns?: number | null;
  /**
   * Exact smallest (ns).
   */
  min_ns?: Exact | null;
  /**
   * Those that the number of samples can support.
   */
  quantiles: QuantileView[];
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
  /**
   * Samples that stand in no bin, since their source told only the range that they lie in.
   */
  unplaced?: Exact | null;
}
/**
 * The non-empty bins.
 */
export interface Bins {
  /**
   * Samples in each.
   */
  count: Exact[];
  /**
   * Lowest value of each (ns).
   */
  from_ns: Exact[];
}
/**
 * A quantile.
 */
export interface QuantileView {
  /**
   * Share of all samples, 0 to 1.
   */
  share: number;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  value_ns: number | string;
}
/**
 * A thread that took the CPU from another one that wanted to go on.
 */
export interface PreemptionView {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  longest_ns: number | string;
  /**
   * Its name.
   */
  name: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  times: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  total_ns: number | string;
}
/**
 * Why a run is not simply valid.
 */
export interface ReasonView {
  /**
   * Its name in the table of reasons.
   */
  code: string;
  /**
   * What was seen, with numbers and places.
   */
  detail: string;
  /**
   * What happened.
   */
  meaning: string;
  /**
   * What mends it.
   */
  remedy: string;
  /**
   * What it makes of the run.
   */
  state: "valid" | "degraded" | "invalid";
}
/**
 * What a scan for periods found.
 */
export interface RhythmScanView {
  /**
   * Periods that the sampling interval hides, in words.
   */
  hidden: string[];
  /**
   * The rhythms, that of the most late time first.
   */
  rhythms: RhythmView[];
  /**
   * What was looked for, and among how many, in a sentence; it says where nothing was found.
   */
  sentence: string;
}
/**
 * One period, with its late samples folded into it.
 */
export interface RhythmView {
  /**
   * `begin` or `end`: which end of the delays keeps the phase.
   */
  end: string;
  /**
   * The latency of each of these (ns).
   */
  folded_latency_ns: Exact[];
  /**
   * Where in the period each late sample lies (ns); the worst few hundred.
   */
  folded_ns: Exact[];
  /**
   * The period with its uncertainty: `100.00 ms (±0.02)`.
   */
  period: string;
  /**
   * The period (ns).
   */
  period_ns: number;
  /**
   * How many late samples come back how often, and what is likely to do that.
   */
  sentence: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  width_ns: number | string;
}
/**
 * A run of consecutive periods that were missed or late.
 */
export interface RowView {
  /**
   * The measured CPU.
   */
  cpu?: number | null;
  first_scheduled: MomentView1;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  missed_periods: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  periods: number | string;
  /**
   * Where, in words: `CPU 3`.
   */
  place: string;
  /**
   * From the first missed schedule to the first wake-up in time (ns).
   */
  recovery_ns?: Exact | null;
  /**
   * The measuring thread; null where the place is none of a thread.
   */
  thread?: number | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  worst_ns: number | string;
}
/**
 * The first late schedule.
 */
export interface MomentView1 {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * The samples of one kind from one thread.
 */
export interface SeriesView {
  /**
   * Samples below zero, by their magnitude.
   */
  below_zero?: HistogramView1 | null;
  /**
   * Mean of each block of 1,000 readings (ns): median over the blocks.
   */
  block_mean_median_ns?: number | null;
  /**
   * With one sample for each schedule that a late wake-up swallowed.
   */
  corrected?: HistogramView1 | null;
  /**
   * What was counted beside the samples, by name; a name is absent where nobody counted it.
   */
  counters: {
    [k: string]: Exact;
  };
  /**
   * The measured CPU.
   */
  cpu?: number | null;
  histogram: HistogramView2;
  intervals: IntervalsView;
  /**
   * What a reader calls it, unique among the series of its name: `CPU 3`; `CPU 3, thread 1` where two share a CPU.
   */
  lane: string;
  /**
   * When the maximum was taken.
   */
  max_at?: MomentView2 | null;
  /**
   * The latency by its two points.
   */
  name: string;
  /**
   * The measuring thread; null where the place is none of a thread.
   */
  thread?: number | null;
  /**
   * What tells it from others of its name.
   */
  variant: string;
}
/**
 * A histogram with its exact numbers.
 */
export interface HistogramView1 {
  bins: Bins;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  count: number | string;
  /**
   * Exact largest (ns).
   */
  max_ns?: Exact | null;
  /**
   * Mean (ns).
   */
  mean_ns?: number | null;
  /**
   * Exact smallest (ns).
   */
  min_ns?: Exact | null;
  /**
   * Those that the number of samples can support.
   */
  quantiles: QuantileView[];
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
  /**
   * Samples that stand in no bin, since their source told only the range that they lie in.
   */
  unplaced?: Exact | null;
}
/**
 * A histogram with its exact numbers.
 */
export interface HistogramView2 {
  bins: Bins;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  count: number | string;
  /**
   * Exact largest (ns).
   */
  max_ns?: Exact | null;
  /**
   * Mean (ns).
   */
  mean_ns?: number | null;
  /**
   * Exact smallest (ns).
   */
  min_ns?: Exact | null;
  /**
   * Those that the number of samples can support.
   */
  quantiles: QuantileView[];
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
  /**
   * Samples that stand in no bin, since their source told only the range that they lie in.
   */
  unplaced?: Exact | null;
}
/**
 * The run in pieces.
 */
export interface IntervalsView {
  /**
   * Samples in each.
   */
  count: Exact[];
  heat: HeatView;
  /**
   * Length of each (ns).
   */
  length_ns: Exact[];
  /**
   * Exact maximum of each (ns); null where it holds no sample.
   */
  max_ns: (Exact | null)[];
  /**
   * Schedules that late wake-ups swallowed.
   */
  missed_periods: Exact[];
  /**
   * Start of each, from the run's first schedule (ns).
   */
  start_offset_ns: Exact[];
}
/**
 * For the heat map.
 */
export interface HeatView {
  /**
   * For each interval the numbers of its non-empty bins.
   */
  bin: number[][];
  /**
   * For each interval the samples in them.
   */
  count: Exact[][];
}
/**
 * A moment of a run.
 */
export interface MomentView2 {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * What a run says of its deadline.
 */
export interface VerdictView {
  /**
   * Samples beyond the limit.
   */
  beyond?: Exact | null;
  /**
   * In words.
   */
  reason: string;
  /**
   * `holds`, `broken` or `cannot-tell`.
   */
  state: "holds" | "broken" | "cannot-tell" | "no-deadline" | "empty";
}
/**
 * One of the worst samples.
 */
export interface WorstView {
  /**
   * The measured CPU.
   */
  cpu?: number | null;
  from: MomentView3;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  latency_ns: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  missed_periods: number | string;
  /**
   * Where, in words: `CPU 3`.
   */
  place: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  sample: number | string;
  /**
   * The measuring thread; null where the place is none of a thread.
   */
  thread?: number | null;
}
/**
 * A moment of a run.
 */
export interface MomentView3 {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * What one run says of the time to come.
 */
export interface TailView {
  /**
   * What causes say of it; absent where the run was not explained.
   */
  by_cause?: ByCauseView | null;
  /**
   * Where the maxima change most, in measured time (ns); absent where no change is shown.
   */
  change_ns?: Exact | null;
  /**
   * The answer to a claim.
   */
  claim?: ClaimView | null;
  curve: CurveView;
  /**
   * Each time that was asked for.
   */
  expectations: ExpectationView[];
  /**
   * How it was judged.
   */
  how: string;
  /**
   * Its label.
   */
  label: string;
  /**
   * The part of outcomes that an interval holds (0 to 1).
   */
  level: number;
  maxima: MaximaView;
  /**
   * What is known without any model.
   */
  model_free: string;
  /**
   * What a reader has to know beside the numbers.
   */
  notes: string[];
  /**
   * All that speaks against any answer, the gravest first.
   */
  refusals: string[];
  /**
   * The run's unique name.
   */
  run: string;
  seen: SeenView;
  /**
   * What the run foretells, or why it foretells nothing.
   */
  sentence: string;
  /**
   * The same in a sentence.
   */
  stationarity: string;
  /**
   * Whether nothing speaks against the process's having stayed the same.
   */
  stationary: boolean;
}
/**
 * The causes of what lies above a level, and what would be left without them.
 */
export interface ByCauseView {
  /**
   * The causes, the one with the worst sample first.
   */
  causes: CauseTailView[];
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  complete_above_ns: number | string;
  /**
   * What removing a cause would buy, in a sentence, or why that cannot be told.
   */
  sentence: string;
}
/**
 * One cause.
 */
export interface CauseTailView {
  /**
   * In words.
   */
  cause: string;
  /**
   * The worst that would be left without it and those before it (ns); absent where that cannot be told.
   */
  left_ns?: Exact | null;
  /**
   * The upper end.
   */
  per_day_high: number;
  /**
   * How often it comes in a day: the ends of a 90 % interval.
   */
  per_day_low: number;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  samples: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  worst_ns: number | string;
}
/**
 * The answer to a claim.
 */
export interface ClaimView {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  horizon_ns: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  limit_ns: number | string;
  /**
   * In a sentence.
   */
  sentence: string;
  /**
   * Whether it is shown.
   */
  shown: boolean;
  /**
   * In a word: `shown`, `broken`, …
   */
  word: string;
}
/**
 * The worst case by the time to come; no points where it is refused.
 */
export interface CurveView {
  /**
   * The upper end (ns).
   */
  high_ns: number[];
  /**
   * Times to come (ns), ascending.
   */
  horizon_ns: Exact[];
  /**
   * The lower end of each interval (ns).
   */
  low_ns: number[];
  /**
   * The middle (ns).
   */
  typical_ns: number[];
}
/**
 * The worst case of one time to come.
 */
export interface ExpectationView {
  /**
   * What the answer goes by, in a few words; absent where it is refused.
   */
  basis?: string | null;
  /**
   * The upper end (ns).
   */
  high_ns?: number | null;
  /**
   * The time in words.
   */
  horizon: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  horizon_ns: number | string;
  /**
   * The lower end of the interval (ns); absent where it is refused.
   */
  low_ns?: number | null;
  /**
   * The chance that it exceeds the worst that was seen, at the most and without any model (0 to 1).
   */
  model_free_chance?: number | null;
  /**
   * Whether only the upper end is known, since the time is shorter than the run's intervals.
   */
  only_bound: boolean;
  /**
   * Why there is no answer.
   */
  refusal?: string | null;
  /**
   * The middle (ns).
   */
  typical_ns?: number | null;
}
/**
 * Interval maxima in the order of time.
 */
export interface MaximaView {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  length_ns: number | string;
  /**
   * The maximum of each (ns).
   */
  max_ns: Exact[];
  /**
   * The median maximum of each part (ns).
   */
  part_median_ns: number[];
  /**
   * Start of equal parts of the run (ns).
   */
  part_start_ns: Exact[];
  /**
   * Start of each, in measured time (ns).
   */
  start_ns: Exact[];
}
/**
 * Maxima that were seen, by how long it takes to see one as large.
 */
export interface SeenView {
  /**
   * How long it takes to see one as large (ns), ascending.
   */
  horizon_ns: Exact[];
  /**
   * The maximum (ns).
   */
  max_ns: Exact[];
}
/**
 * The conclusion.
 */
export interface AssessmentView {
  /**
   * What to change, the most promising first.
   */
  changes: ChangeView[];
  /**
   * What stands over the changes: where the deadline holds they add margin.
   */
  changes_heading: string;
}
/**
 * One thing to change.
 */
export interface ChangeView {
  /**
   * Samples that this rests on.
   */
  basis_samples?: Exact | null;
  /**
   * The finding behind it.
   */
  finding?: string | null;
  /**
   * Commands or settings.
   */
  how: string[];
  /**
   * About what share of the samples beyond the deadline it would remove (0 to 1); absent where nothing measured says so.
   */
  removes_share_of_beyond?: number | null;
  /**
   * How sure it is: "shown" or "likely".
   */
  sureness?: string | null;
  /**
   * What, in a few words.
   */
  title: string;
  /**
   * Why it matters here.
   */
  why: string;
  /**
   * The worst latency that it is found to cause (ns).
   */
  worst_ns?: Exact | null;
}
/**
 * What was measured.
 */
export interface ResultsView1 {
  /**
   * The gravest first.
   */
  findings: Finding[];
  /**
   * Everything that was read from the node.
   */
  profile?: {
    [k: string]: unknown;
  };
  /**
   * The runs in the order in which they are shown.
   */
  runs: RunView[];
  /**
   * How bad it can get: what each wake-up run says of the time to come, those under load first.
   */
  tails: TailView[];
}
/**
 * What was measured.
 */
export interface ResultsView2 {
  /**
   * The gravest first.
   */
  findings: Finding[];
  /**
   * Everything that was read from the node.
   */
  profile?: {
    [k: string]: unknown;
  };
  /**
   * The runs in the order in which they are shown.
   */
  runs: RunView[];
  /**
   * How bad it can get: what each wake-up run says of the time to come, those under load first.
   */
  tails: TailView[];
}
/**
 * A comparison of two groups of runs.
 */
export interface ComparisonView {
  document: Comparison;
  /**
   * How it was judged, in a line.
   */
  how: string;
  plot: RunView1;
  /**
   * What could have been seen, a sentence for each quantity.
   */
  reach: string[];
  /**
   * The runs of A, then those of B, each with one series of its group's name: the worst of all CPUs in each interval.
   * Its histogram has no bins.
   */
  runs: RunView[];
}
/**
 * Two groups of runs side by side, with a verdict. All differences are B - A.
 */
export interface Comparison {
  a: GroupSummary;
  b: GroupSummary1;
  /**
   * What else than the wanted change differs between the groups, the gravest first.
   */
  context: ContextDifference[];
  /**
   * What a pipeline asked (`--fail-on`, `--pass-on`), with the answers.
   */
  gates?: GateResult[];
  /**
   * The latency by its two points, as in the glossary.
   */
  latency: string;
  /**
   * What was measured.
   */
  measurement: "wakeup" | "clock" | "noise" | "app";
  method: Method;
  /**
   * What a reader has to know beside the numbers.
   */
  notes: string[];
  /**
   * What differs between the profiles of both groups, where both are known.
   */
  profiles?: ProfileDifferences | null;
  /**
   * Mean and quantiles side by side: those that both groups have samples for.
   */
  quantities: QuantityComparison[];
  /**
   * What this comparison could have seen, and how much longer it takes to see less.
   */
  reach: Reach[];
  /**
   * `punctual/comparison`.
   */
  schema: string;
  verdict: ComparisonVerdict;
  /**
   * Version of the schema.
   */
  version: number;
  worst: WorstComparison;
}
/**
 * The first group.
 */
export interface GroupSummary {
  /**
   * Exact largest (ns).
   */
  max_ns: number;
  /**
   * Exact smallest (ns).
   */
  min_ns: number;
  /**
   * Schedules that late wake-ups swallowed; absent where a run comes from a program that does not count them.
   */
  missed_periods?: number | null;
  /**
   * What people call it: a label, or its files.
   */
  name: string;
  /**
   * Its runs, in the order given.
   */
  runs: RunSummary[];
  /**
   * Samples of all runs.
   */
  samples: number;
  /**
   * Population standard deviation (ns); absent where the values of some samples are not known.
   */
  sd_ns?: number | null;
  /**
   * The worst of its runs' validities.
   */
  validity: "valid" | "degraded" | "invalid";
}
/**
 * One run of a group.
 */
export interface RunSummary {
  /**
   * From the first schedule to the end (ns).
   */
  duration_ns: number;
  /**
   * Its unique name.
   */
  id: string;
  /**
   * A word for people.
   */
  label: string;
  /**
   * Exact largest (ns).
   */
  max_ns: number;
  /**
   * Schedules that late wake-ups swallowed; absent where a run comes from a program that does not count them.
   */
  missed_periods?: number | null;
  /**
   * Host name.
   */
  node: string;
  /**
   * Pieces that it was cut into.
   */
  pieces: number;
  /**
   * Why, the worst first: code and what was seen.
   */
  reasons: string[];
  /**
   * Samples.
   */
  samples: number;
  /**
   * How far it can be trusted.
   */
  validity: "valid" | "degraded" | "invalid";
}
/**
 * The second group.
 */
export interface GroupSummary1 {
  /**
   * Exact largest (ns).
   */
  max_ns: number;
  /**
   * Exact smallest (ns).
   */
  min_ns: number;
  /**
   * Schedules that late wake-ups swallowed; absent where a run comes from a program that does not count them.
   */
  missed_periods?: number | null;
  /**
   * What people call it: a label, or its files.
   */
  name: string;
  /**
   * Its runs, in the order given.
   */
  runs: RunSummary[];
  /**
   * Samples of all runs.
   */
  samples: number;
  /**
   * Population standard deviation (ns); absent where the values of some samples are not known.
   */
  sd_ns?: number | null;
  /**
   * The worst of its runs' validities.
   */
  validity: "valid" | "degraded" | "invalid";
}
/**
 * One thing that differs between the groups, or inside one of them.
 */
export interface ContextDifference {
  /**
   * Its values in A: several where A's own runs differ, and of `load achieved` each rate that differs.
   */
  a: string[];
  /**
   * Its values in B, as those in A.
   */
  b: string[];
  /**
   * What differs: `node`, `kernel`, `load`, …
   */
  field: string;
}
/**
 * The answer to a gate, with its reason.
 */
export interface GateResult {
  /**
   * What the exit code follows from.
   */
  answer: "holds" | "broken" | "cannot-tell";
  gate: Gate;
  /**
   * The least repetitions of each side with which this question can be answered at all.
   */
  least_runs: number;
  /**
   * The probability of a wrong `broken`, or of a wrong pass where the pass is what has to be shown.
   */
  level: number;
  /**
   * The one-sided probability that decides it; absent where no test was made.
   */
  p?: number | null;
  /**
   * The question as on the command line: `--fail-on worse:20us`.
   */
  question: string;
  /**
   * What the answer is drawn from, with the numbers.
   */
  reason: string;
}
/**
 * The question in its parts.
 */
export interface Gate {
  /**
   * Whether worse is to be shown, or not worse.
   */
  kind: "fail-on-worse" | "pass-on-not-worse";
  /**
   * The part of the comparison that the question is about.
   */
  part: "worst-case" | "body";
  /**
   * The difference that counts; absent for any at all, and in the body for one beyond the margin.
   */
  size?: GateSize | null;
}
/**
 * How it was judged.
 */
export interface Method {
  /**
   * Units of A.
   */
  a_units: number;
  /**
   * Units of B.
   */
  b_units: number;
  /**
   * Pieces to a block.
   */
  block_pieces: number;
  /**
   * How alike neighbouring pieces are, 0 to 1.
   */
  correlation: number;
  /**
   * The probability of seeing a difference where there is none, over all rows together.
   */
  level: number;
  /**
   * The change of the body that counts (ns); one below it never outweighs the worst case.
   */
  margin_ns?: number;
  /**
   * Length of the pieces that runs were cut into (ns).
   */
  piece_ns: number;
  /**
   * How often both groups were resampled.
   */
  resamples: number;
  /**
   * Where the random numbers began; the same seed gives the same document.
   */
  seed: number;
  /**
   * No p-value below this is possible with these units.
   */
  smallest_p: number;
  /**
   * What changes sides.
   */
  unit: "run" | "block";
}
/**
 * Everything that differs between two profiles.
 */
export interface ProfileDifferences {
  /**
   * Options of the kernel's configuration: `CONFIG_HZ`; empty where one of them could not be read.
   */
  kernel_config: SettingDifference[];
  /**
   * Whether both kernels' configurations could be read.
   */
  kernel_configs_known: boolean;
  /**
   * Settings, by their path: `power.cpus[2].governor`; what changes by itself is left out.
   */
  settings: SettingDifference[];
}
/**
 * One setting that differs.
 */
export interface SettingDifference {
  /**
   * Its value in A; absent where it is unknown or not there.
   */
  a?: string | null;
  /**
   * Its value in B.
   */
  b?: string | null;
  /**
   * Its path or name.
   */
  name: string;
}
/**
 * One quantity of both groups.
 */
export interface QuantityComparison {
  /**
   * Of A (ns).
   */
  a_ns: number;
  /**
   * Of B (ns).
   */
  b_ns: number;
  /**
   * B - A (ns).
   */
  difference_ns: number;
  /**
   * B - A in per cent of A; absent where A is 0.
   */
  difference_percent?: number | null;
  /**
   * Where the difference would lie were the runs repeated, each row by itself; absent where nothing tells.
   */
  interval?: DifferenceInterval | null;
  /**
   * `mean`, `p50`, `p99.9`, …; of noise first `stolen in 1 s`: what a CPU lost in each second.
   */
  name: string;
  /**
   * How often chance alone makes such a difference or a greater one; absent where nothing tells.
   */
  p?: number | null;
  /**
   * The same within the level that the whole verdict has: what the verdict goes by. Absent for rows that decide nothing.
   */
  p_together?: number | null;
  /**
   * The share of samples that does not exceed it, 0 to 1; absent for means.
   */
  share?: number | null;
}
/**
 * A confidence interval of a difference.
 */
export interface DifferenceInterval {
  /**
   * Its upper end (ns).
   */
  high_ns: number;
  /**
   * Its lower end (ns).
   */
  low_ns: number;
}
/**
 * What could have been seen of one quantity.
 */
export interface Reach {
  /**
   * Its name.
   */
  name: string;
  /**
   * How many times longer both sides have to be measured for that (runs: how many times as many); at most 1 where it
   * would have been seen.
   */
  times_longer: number;
  /**
   * A true difference that four of five such comparisons would show (ns).
   */
  visible_ns: number;
  /**
   * The difference that somebody wants to see (ns).
   */
  wanted_ns: number;
}
/**
 * What is concluded of B against A, with its reason.
 */
export interface ComparisonVerdict {
  /**
   * Those that B is shown to be better in.
   */
  better: string[];
  /**
   * Mean and quantiles up to p99.9, by the margin.
   */
  body?: "worse" | "better" | "not-beyond-margin" | "not-shown" | "cannot-tell";
  /**
   * In words, with the number that decides it.
   */
  reason: string;
  /**
   * In a word.
   */
  state:
    | "worse"
    | "better"
    | "trade"
    | "worse-body"
    | "better-body"
    | "not-beyond-margin"
    | "no-difference-shown"
    | "invalid";
  /**
   * The rows that B is shown to be worse in, by their names, whatever the margin; a lower latency is better.
   */
  worse: string[];
  /**
   * What decides: the worst case, or the rate beyond the deadline where one is stated.
   */
  worst_case?: "worse" | "better" | "not-beyond-margin" | "not-shown" | "cannot-tell";
}
/**
 * Worst cases, by the maxima of repetitions.
 */
export interface WorstComparison {
  /**
   * The maximum of each of A's (ns).
   */
  a_maxima_ns: number[];
  /**
   * The median of A's maxima (ns).
   */
  a_median_ns: number;
  /**
   * The maximum of each of B's (ns).
   */
  b_maxima_ns: number[];
  /**
   * The median of B's maxima (ns).
   */
  b_median_ns: number;
  /**
   * Whether the largest value of all contradicts the ranks, so that nothing is concluded from them.
   */
  is_contradictory?: boolean;
  /**
   * B's median minus A's (ns).
   */
  median_difference_ns: number;
  /**
   * The same in per cent of A's; absent where that is 0.
   */
  median_difference_percent?: number | null;
  /**
   * How they were compared, or why not.
   */
  note: string;
  /**
   * How often chance alone ranks the maxima as differently; absent where they cannot be compared.
   */
  p?: number | null;
  /**
   * The same within the level that the whole verdict has; absent where a rate decides.
   */
  p_together?: number | null;
  /**
   * How often the deadline was exceeded, which then decides; absent where none is stated.
   */
  rate?: RateComparison | null;
  /**
   * What stands for a repetition.
   */
  unit: "run" | "block";
}
/**
 * How often each unit exceeded the deadline, over about equally long parts of the runs.
 *
 * It is counted from bins, on both sides alike: a sample counts as late from the first bin above the deadline on, so that
 * one beyond it by less than a bin's width (0.1 %) may not count. A record's own `late_samples` are exact, but are those of
 * whole runs and of the deadline that was stated when it was made.
 */
export interface RateComparison {
  /**
   * Of each of A's units the periods that were late by more than that or missed; of noise the gaps.
   */
  a_beyond: number[];
  /**
   * Of each of A's units all periods; of noise the time observed (ns).
   */
  a_exposure: number[];
  /**
   * Of each of B's units the periods that were late by more than that or missed; of noise the gaps.
   */
  b_beyond: number[];
  /**
   * Of each of B's units all periods; of noise the time observed (ns).
   */
  b_exposure: number[];
  /**
   * The deadline (ns).
   */
  deadline_ns: number;
  /**
   * How often chance alone ranks the rates as differently; absent where they cannot be compared.
   */
  p?: number | null;
  /**
   * The same within the level that the whole verdict has.
   */
  p_together?: number | null;
  /**
   * Of how long a part of each run these are, from its beginning (ns); absent where all of each run counts.
   */
  part_ns?: number | null;
  /**
   * The sums of both sides in words, and which part of the runs they are of where that is not all.
   */
  text: string;
}
/**
 * One run.
 */
export interface RunView1 {
  /**
   * The limit (ns).
   */
  deadline_ns?: Exact | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  duration_ns: number | string;
  /**
   * What made the worst samples late; absent where nobody asked.
   */
  explanation?: ExplanationView | null;
  /**
   * Its unique name.
   */
  id: string;
  /**
   * From one schedule to the next (ns).
   */
  interval_ns?: Exact | null;
  /**
   * A word for people: `idle`, `under paper load`.
   */
  label: string;
  /**
   * What the program that measured does not tell, in plain words; empty for this program's own runs.
   */
  lacks: string[];
  /**
   * What the load did, where it is made of parts.
   */
  load?: LoadView | null;
  /**
   * Whether anything else ran on purpose.
   */
  loaded: boolean;
  /**
   * What was asked, granted and around.
   */
  manifest: {
    [k: string]: unknown;
  };
  /**
   * `wakeup`, `clock`, `noise`.
   */
  measurement: string;
  /**
   * Host name.
   */
  node: string;
  /**
   * What this machine gives no means to see, in words; it makes no run worse.
   */
  not_observable: string[];
  /**
   * A user's own program that was followed, where the run is one of `app`.
   */
  program?: ProgramView | null;
  /**
   * Why, the worst first.
   */
  reasons: ReasonView[];
  /**
   * Periods among the late samples; absent where nobody looked for them.
   */
  rhythm?: RhythmScanView | null;
  /**
   * The longest rows of missed or late periods, longest first.
   */
  rows: RowView[];
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  samples: number | string;
  /**
   * One for each measuring thread and variant.
   */
  series: SeriesView[];
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  started_realtime_ns: string;
  /**
   * How far it can be trusted.
   */
  state: "valid" | "degraded" | "invalid";
  /**
   * The node's time zone, an IANA name.
   */
  time_zone?: string | null;
  /**
   * What it says of the deadline.
   */
  verdict?: VerdictView | null;
  /**
   * The worst samples, worst first.
   */
  worst: WorstView[];
}
/**
 * All of them.
 */
export interface CampaignView {
  /**
   * When it began.
   */
  began?: Instant | null;
  /**
   * For each figure of the document all conditions in the order of its bars, each as one series with all samples of
   * its usable runs; null where no record is known.
   */
  distributions: (RunView | null)[];
  document: CampaignResult;
  /**
   * Why runs are not simply valid, the worst first, each once.
   */
  reasons: CampaignReasonView[];
  /**
   * For each run of the document why it is not simply valid.
   */
  run_reasons: string[][];
  /**
   * The node's time zone, an IANA name.
   */
  time_zone?: string | null;
}
/**
 * What `punctual campaign report --json` prints.
 */
export interface CampaignResult {
  /**
   * What it asks.
   */
  about: string;
  /**
   * Each condition against the first.
   */
  answers: Answer[];
  /**
   * When it began (ns since 1970-01-01 UTC).
   */
  began_ns?: number | null;
  /**
   * How many comparisons share it.
   */
  comparisons: number;
  /**
   * What was measured, the one that others are compared with first.
   */
  conditions: ConditionResult[];
  /**
   * The winners together against the first condition, measured anew; empty where there is none (yet).
   */
  confirmation: Answer[];
  /**
   * The probability of showing any difference where there is none, over all comparisons together.
   */
  false_alarms: number;
  /**
   * What came out, a figure for each measurement and series.
   */
  figures: Figure[];
  /**
   * The answer in a sentence.
   */
  headline: string;
  /**
   * With fewer repetitions no difference can be shown, however great; with so many one of worst cases can.
   */
  least_repetitions: number;
  /**
   * With so many repetitions a row of the body that differs alone is sure to be shown; 0 where nobody said.
   */
  least_repetitions_body?: number;
  /**
   * The probability that each comparison has of it.
   */
  level_each: number;
  /**
   * What stands under it.
   */
  lines: string[];
  /**
   * The campaign's name.
   */
  name: string;
  /**
   * Host name; empty before the first run.
   */
  node: string;
  /**
   * What a reader has to know beside the numbers.
   */
  notes: string[];
  /**
   * How often each condition is measured.
   */
  repetitions: number;
  /**
   * How often the machine was started anew for it.
   */
  restarts: number;
  /**
   * The runs that count, in the order in which they were made.
   */
  runs: RunLine[];
  /**
   * `punctual/campaign-result`.
   */
  schema: string;
  /**
   * What decided every order that was drawn.
   */
  seed: number;
  /**
   * How far it has come.
   */
  state: "running" | "complete" | "stopped-early";
  /**
   * Version of the schema.
   */
  version: number;
}
/**
 * What is known of one condition against the first.
 */
export interface Answer {
  /**
   * The comparison behind it: A is the first condition.
   */
  comparison?: Comparison1 | null;
  /**
   * The condition.
   */
  condition: string;
  /**
   * Whether other settings were changed for it than for the first condition; absent where that is not known, or its
   * levels ask for none.
   */
  is_set_apart?: boolean | null;
  /**
   * What was measured.
   */
  measurement: string;
  /**
   * Its place among the conditions.
   */
  place: number;
  /**
   * The answer with its numbers.
   */
  sentence: string;
  /**
   * The answer in a word.
   */
  state:
    | "helps"
    | "harms"
    | "trade"
    | "helps-body"
    | "harms-body"
    | "not-beyond-margin"
    | "no-difference-shown"
    | "not-measured";
}
/**
 * Two groups of runs side by side, with a verdict. All differences are B - A.
 */
export interface Comparison1 {
  a: GroupSummary;
  b: GroupSummary1;
  /**
   * What else than the wanted change differs between the groups, the gravest first.
   */
  context: ContextDifference[];
  /**
   * What a pipeline asked (`--fail-on`, `--pass-on`), with the answers.
   */
  gates?: GateResult[];
  /**
   * The latency by its two points, as in the glossary.
   */
  latency: string;
  /**
   * What was measured.
   */
  measurement: "wakeup" | "clock" | "noise" | "app";
  method: Method;
  /**
   * What a reader has to know beside the numbers.
   */
  notes: string[];
  /**
   * What differs between the profiles of both groups, where both are known.
   */
  profiles?: ProfileDifferences | null;
  /**
   * Mean and quantiles side by side: those that both groups have samples for.
   */
  quantities: QuantityComparison[];
  /**
   * What this comparison could have seen, and how much longer it takes to see less.
   */
  reach: Reach[];
  /**
   * `punctual/comparison`.
   */
  schema: string;
  verdict: ComparisonVerdict;
  /**
   * Version of the schema.
   */
  version: number;
  worst: WorstComparison;
}
/**
 * One condition.
 */
export interface ConditionResult {
  /**
   * What was changed for it: knob, from what, to what.
   */
  changed: string[];
  /**
   * Runs among them whose numbers hold with a reservation.
   */
  degraded: number;
  /**
   * Whether it is the one that others are compared with.
   */
  is_baseline: boolean;
  /**
   * Whether it was made of the winners.
   */
  is_winners_together: boolean;
  /**
   * Runs that were made.
   */
  measured: number;
  /**
   * The levels that make it.
   */
  name: string;
  /**
   * Runs that it shall have.
   */
  planned: number;
  /**
   * What could not be changed, and why.
   */
  refused: string[];
  /**
   * Runs among them that are not used.
   */
  unusable: number;
}
/**
 * One measurement and series, all conditions side by side.
 */
export interface Figure {
  /**
   * One for each condition that has a run, in their order.
   */
  bars: Bar[];
  /**
   * The measurement.
   */
  measurement: string;
  /**
   * The latency by its two points, as in the glossary.
   */
  series: string;
  /**
   * What it is called.
   */
  title: string;
  /**
   * What tells this series from others of its name; empty where nothing has to.
   */
  variant: string;
}
/**
 * All samples of one condition.
 */
export interface Bar {
  /**
   * The condition.
   */
  condition: string;
  /**
   * Exact largest (ns).
   */
  max_ns: number;
  /**
   * The largest of each run, in their order (ns).
   */
  maxima_ns: number[];
  /**
   * Mean (ns).
   */
  mean_ns: number;
  /**
   * Exact smallest (ns).
   */
  min_ns: number;
  /**
   * Runs.
   */
  runs: number;
  /**
   * Samples.
   */
  samples: number;
  /**
   * Population standard deviation (ns); absent where the values of some samples are not known.
   */
  sd_ns?: number | null;
}
/**
 * One run.
 */
export interface RunLine {
  /**
   * How many attempts it took.
   */
  attempts: number;
  /**
   * The condition.
   */
  condition: string;
  /**
   * The record, in the campaign's folder.
   */
  file: string;
  /**
   * Whether it confirms winners.
   */
  is_confirmation: boolean;
  /**
   * What was measured.
   */
  measurement: string;
  /**
   * The visit that it belongs to, from 1.
   */
  number: number;
  /**
   * Why it is not used although it means what it says.
   */
  unusable?: string | null;
  /**
   * How far it can be trusted.
   */
  validity: "valid" | "degraded" | "invalid";
}
/**
 * Why some runs of a campaign are not simply valid.
 */
export interface CampaignReasonView {
  reason: ReasonView1;
  /**
   * Runs that have it.
   */
  runs: number;
}
/**
 * The reason, with what was seen first.
 */
export interface ReasonView1 {
  /**
   * Its name in the table of reasons.
   */
  code: string;
  /**
   * What was seen, with numbers and places.
   */
  detail: string;
  /**
   * What happened.
   */
  meaning: string;
  /**
   * What mends it.
   */
  remedy: string;
  /**
   * What it makes of the run.
   */
  state: "valid" | "degraded" | "invalid";
}
/**
 * Truth against reading.
 */
export interface CalibrationView {
  /**
   * Everything else that had to hold.
   */
  checks: CalibrationCheckView[];
  /**
   * The machine that it was calibrated on.
   */
  machine: string;
  /**
   * Whether everything is as it must be.
   */
  passes: boolean;
  /**
   * One for each injected delay.
   */
  rows: CalibrationRowView[];
  /**
   * The program that was calibrated, with its version.
   */
  tool: string;
}
/**
 * Something that had to hold beside the readings.
 */
export interface CalibrationCheckView {
  /**
   * In which boot; empty for all together.
   */
  boot: string;
  /**
   * What was found.
   */
  found: string;
  /**
   * Whether it does.
   */
  holds: boolean;
  /**
   * What.
   */
  name: string;
}
/**
 * Truth against reading of one injected delay.
 */
export interface CalibrationRowView {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  asked_length_ns: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  baseline_ns: number | string;
  /**
   * The boot of the guest that it comes from.
   */
  boot: string;
  /**
   * What else ran in that boot: `idle`, `load`.
   */
  condition: string;
  /**
   * Reading minus truth and baseline (ns).
   */
  difference_ns?: Exact | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  exception_ns: number | string;
  /**
   * What held the CPU: `irqs-off`, `hog`.
   */
  kind: string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  least_ns: number | string;
  /**
   * What measured: `wakeup`, `noise`.
   */
  measurement: string;
  /**
   * Missed periods, where the measurement counts them.
   */
  missed?: CalibrationMissedView | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  most_ns: number | string;
  /**
   * How it came out.
   */
  outcome: "within" | "exception" | "outside" | "not-found";
  /**
   * What was read (ns); null where nothing was found.
   */
  reading_ns?: Exact | null;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  truth_ns: number | string;
}
/**
 * Missed periods of one reading.
 */
export interface CalibrationMissedView {
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  least: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  most: number | string;
  /**
   * A whole number: a JSON number where that is exact, else its decimal digits as text
   */
  reading: number | string;
}
