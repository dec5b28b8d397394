/* Generated from view.schema.json by `npm run types`. Do not edit. */

/**
 * An integer: a JSON number if that is exact, otherwise its decimal digits as text
 */
export type Exact = number | string;
/**
 * How certain a cause is.
 */
export type Certainty = "shown" | "likely" | "unknown";
/**
 * State of a source of time.
 */
export type SyncStateView = "starting" | "locked" | "reference" | "holdover" | "free" | "lost";
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
 * Where in a node samples are taken.
 */
export type Place =
  | {
      /**
       * The measured CPU; absent if the thread was not pinned.
       */
      cpu?: number | null;
      kind: "thread";
      /**
       * Number of the thread, from 0.
       */
      thread: number;
    }
  | {
      /**
       * The measured CPU: that of the woken thread.
       */
      cpu: number;
      kind: "pair";
      /**
       * Number of the pair, from 0.
       */
      pair: number;
      /**
       * The CPU of the thread that wakes it; the same where both share one.
       */
      waker_cpu: number;
    }
  | {
      /**
       * Direction of the packets, as seen by the node.
       */
      direction: "sent" | "received" | "round-trip";
      /**
       * Number of the flow, from 0.
       */
      flow: number;
      kind: "flow";
      /**
       * The queue of the network interface; absent if any queue may have been used.
       */
      queue?: number | null;
    }
  | {
      /**
       * The PTP domain; absent if the service has none.
       */
      domain?: number | null;
      kind: "port";
      /**
       * The network interface, or the device of a clock.
       */
      port: string;
    }
  | {
      /**
       * Device of the GPIO chip.
       */
      chip: string;
      kind: "line";
      /**
       * Number of the line.
       */
      line: number;
    };
/**
 * Nanoseconds since 1970-01-01 UTC, as decimal text
 */
export type Instant = string;

/**
 * Everything that a page shows.
 */
export interface View {
  /**
   * The conditions of the measurement, in the order in which they are shown: machine, kernel, processor, load, policy,
   * deadline. Empty if the page has no run.
   */
  conditions: ConditionView[];
  generated: GeneratedView;
  headline: HeadlineView;
  /**
   * The content, which depends on the kind of the page.
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
        kind: "together";
        results: ResultsView3;
        together: TogetherView;
      }
    | {
        /**
         * The comparison; null if a group has no run.
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
   * Name of the schema: `punctual/view`.
   */
  schema: string;
  /**
   * Title of the page.
   */
  title: string;
  /**
   * Version of the schema.
   */
  version: number;
}
/**
 * One condition of the measurement.
 */
export interface ConditionView {
  /**
   * Name of the condition: `kernel`, `load`, …
   */
  name: string;
  /**
   * The condition in words; null if it is not known, as in many imports.
   */
  value?: string | null;
}
/**
 * The program that made the page, and the time.
 */
export interface GeneratedView {
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
  /**
   * IANA name of the time zone in which to show that time; null: UTC.
   */
  time_zone?: string | null;
  /**
   * Program and version.
   */
  tool: string;
}
/**
 * The verdict at the top of the page.
 */
export interface HeadlineView {
  /**
   * The deadline (ns); null if there is none, or if the runs have different ones.
   */
  deadline_ns?: Exact | null;
  /**
   * Further lines below the sentence.
   */
  lines: string[];
  /**
   * One sentence with the number that decides the verdict.
   */
  sentence: string;
  /**
   * The verdict, which determines the symbol before the sentence.
   */
  state: "holds" | "broken" | "cannot-tell" | "no-deadline" | "empty";
  /**
   * The large line: "Holds", "Holds 100 us on CPU 2-3".
   */
  word: string;
}
/**
 * The measured runs.
 */
export interface ResultsView {
  /**
   * Findings from the profile, the most severe first.
   */
  findings: Finding[];
  /**
   * What makes wake-ups late; null if the deadline holds, or if no run was examined for it.
   */
  late_causes?: LateCausesView | null;
  /**
   * What the page begins with if it has many runs; null if they are few, and shown side by side.
   */
  overview?: OverviewView | null;
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
   * Predicted worst cases of each wake-up run, those under load first.
   */
  tails: TailView[];
  /**
   * The sums over all runs of wake-ups that are not invalid; null if there is none. The sentence of the headline uses the
   * same numbers.
   */
  totals?: TotalsView | null;
}
/**
 * Something about a machine or a program that can prevent it from acting on time.
 */
export interface Finding {
  /**
   * What was read or observed, and where.
   */
  evidence: Evidence[];
  /**
   * Name of the finding, as given to `punctual explain`.
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
   * Why the finding matters.
   */
  why: string;
}
/**
 * A piece of evidence: what was read or observed, and where.
 */
export interface Evidence {
  /**
   * The source: a file, a parameter or a driver query; for a program its thread, process or file.
   */
  source: string;
  /**
   * What the source contained, or what was observed there.
   */
  value: string;
}
/**
 * What makes wake-ups late, over all runs of the page.
 */
export interface LateCausesView {
  /**
   * Heading of the table.
   */
  heading: string;
  /**
   * What counters and rhythms say besides, in whole sentences.
   */
  notes: string[];
  /**
   * The samples of which the shares are parts, in words: `wake-ups beyond 100 us`.
   */
  of: string;
  /**
   * The causes, the one with the most samples first; then samples without a known cause, then those not examined. The
   * samples of all rows add up to the total.
   */
  rows: LateCauseView[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  total: number | string;
}
/**
 * One cause of late wake-ups.
 */
export interface LateCauseView {
  /**
   * The cause in words: `interrupt: eth0 (interrupt 126)`.
   */
  cause: string;
  /**
   * Certainty of the cause, the lowest of all its samples; null if the samples were not examined.
   */
  certainty?: Certainty | null;
  /**
   * Name of a finding of `check` that has more about it.
   */
  finding?: string | null;
  /**
   * The share in words: `19 %`. Those of all rows add up to 100 %.
   */
  percent: string;
  /**
   * What to change against it; null if nothing is known.
   */
  remedy?: string | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * Share of the total (0 to 1).
   */
  share: number;
  /**
   * The worst latency with this cause (ns); null if it is not known.
   */
  worst_ns?: Exact | null;
}
/**
 * What a page of many runs begins with. The details of its runs are shown one at a time.
 */
export interface OverviewView {
  /**
   * What the runs are grouped by, in words: `label`, `node and load`.
   */
  grouped_by: string;
  /**
   * The groups, worst first; those without a result last.
   */
  groups: GroupView[];
  /**
   * One line for each run, worst first; runs without a result last.
   */
  rows: RunRowView[];
  tally: TallyView1;
}
/**
 * Runs that belong together.
 */
export interface GroupView {
  /**
   * The samples of all its runs that are not invalid, as those of their plot; null if they cannot be in one histogram.
   */
  histogram?: HistogramView | null;
  /**
   * Schedules that late wake-ups skipped; null if no source counted them.
   */
  missed_periods?: Exact | null;
  /**
   * Name of the group, unique on the page: its label, or what distinguishes its runs.
   */
  name: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * Its color and mark, from 0; null if too many groups are worse: then it is drawn in a neutral tone.
   */
  slot?: number | null;
  tally: TallyView;
  /**
   * The tally in words: `10 runs: 2 broken, 1 invalid`.
   */
  tally_words: string;
  /**
   * What the samples of its runs are called: `wake-ups`.
   */
  what: string;
  /**
   * The worst sample of runs that are not invalid; null if there is none.
   */
  worst?: WorstOfView | null;
}
/**
 * A histogram with exact statistics.
 */
export interface HistogramView {
  bins: Bins;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  count: number | string;
  /**
   * Exact largest sample (ns).
   */
  max_ns?: Exact | null;
  /**
   * Mean of the samples (ns).
   */
  mean_ns?: number | null;
  /**
   * Exact smallest sample (ns).
   */
  min_ns?: Exact | null;
  /**
   * The quantiles for which there are enough samples.
   */
  quantiles: QuantileView[];
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
  /**
   * Samples that are in no bin, because an import's source gave only their range.
   */
  unplaced?: Exact | null;
  /**
   * The lowest value that these samples can have (ns); the highest is the maximum. Null if there are none.
   */
  unplaced_from_ns?: Exact | null;
}
/**
 * The non-empty bins.
 */
export interface Bins {
  /**
   * Samples in each bin.
   */
  count: Exact[];
  /**
   * Lowest value of each bin (ns).
   */
  from_ns: Exact[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  unit_ns: number | string;
}
/**
 * A quantile of the samples.
 */
export interface QuantileView {
  /**
   * The share of samples that do not exceed the value (0 to 1).
   */
  share: number;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  value_ns: number | string;
}
/**
 * How many runs there are of each verdict and of each state.
 */
export interface TallyView {
  /**
   * Runs that exceeded their deadline.
   */
  broken: number;
  /**
   * Runs with a deadline that are inconclusive.
   */
  cannot_tell: number;
  /**
   * Degraded runs.
   */
  degraded: number;
  /**
   * Runs that kept their deadline.
   */
  holds: number;
  /**
   * Invalid runs, which are in no other number of the overview.
   */
  invalid: number;
  /**
   * Runs without a deadline.
   */
  not_judged: number;
  /**
   * All runs.
   */
  runs: number;
}
/**
 * The worst sample of a run or of a group.
 */
export interface WorstOfView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  latency_ns: number | string;
  /**
   * Where it was measured, in words: `CPU 3`.
   */
  place: string;
  /**
   * Key of its run.
   */
  run: string;
}
/**
 * A run as one line.
 */
export interface RunRowView {
  /**
   * What the conclusion is based on besides the worst sample; null if there is nothing, or if the run is invalid.
   */
  basis?: BasisView | null;
  /**
   * Place of its group among the groups, from 0.
   */
  group: number;
  /**
   * The samples of the run, if the page is of so few runs that each is drawn by itself; else null.
   */
  histogram?: HistogramView | null;
  /**
   * The kernel's release; null if it is not known.
   */
  kernel?: string | null;
  /**
   * Identifies the run on this page, and among other data of the same page: its identifier, with a number if that is not
   * unique.
   */
  key: string;
  /**
   * Name of the load; null if it is not known.
   */
  load?: string | null;
  /**
   * The kind of measurement.
   */
  measurement: string;
  /**
   * Schedules that late wake-ups skipped; null if the source did not count them.
   */
  missed_periods?: Exact | null;
  /**
   * What distinguishes it from the others of its group, in a few words.
   */
  name: string;
  /**
   * The machine; null if it is not known.
   */
  node?: string | null;
  /**
   * Place of the run among the runs of the results, from 0.
   */
  run: number;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  started_realtime_ns: string;
  /**
   * The same to the minute, in UTC: `2026-03-02 07:00`; null if it is not known.
   */
  started_utc?: string | null;
  /**
   * How far the numbers can be trusted.
   */
  state: "valid" | "degraded" | "invalid";
  /**
   * The state in words with its first reason: `degraded: virtual machine steal, +1` if there is one more.
   */
  validity: string;
  /**
   * The verdict on its deadline.
   */
  verdict: "holds" | "broken" | "cannot-tell" | "no-deadline" | "empty";
  /**
   * The verdict in a few words: `holds 100 us`, `7 beyond 100 us`.
   */
  verdict_words: string;
  /**
   * The worst sample; null if there is none, or if the run is invalid and no result.
   */
  worst?: WorstOfView | null;
}
/**
 * A number that a conclusion is based on besides the worst sample.
 */
export interface BasisView {
  /**
   * What it is: `p99.99`, or a lower quantile if there are too few samples for that one; `bound` of a clock's error.
   */
  name: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  value_ns: number | string;
}
/**
 * How many runs there are of each verdict and of each state.
 */
export interface TallyView1 {
  /**
   * Runs that exceeded their deadline.
   */
  broken: number;
  /**
   * Runs with a deadline that are inconclusive.
   */
  cannot_tell: number;
  /**
   * Degraded runs.
   */
  degraded: number;
  /**
   * Runs that kept their deadline.
   */
  holds: number;
  /**
   * Invalid runs, which are in no other number of the overview.
   */
  invalid: number;
  /**
   * Runs without a deadline.
   */
  not_judged: number;
  /**
   * All runs.
   */
  runs: number;
}
/**
 * One run of the page.
 */
export interface RunView {
  /**
   * Edges that were answered; null except in runs of `answer`.
   */
  answers?: AnswerView | null;
  /**
   * The deadline (ns).
   */
  deadline_ns?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  duration_ns: number | string;
  /**
   * What made the worst samples late; null if no explanation was requested.
   */
  explanation?: ExplanationView | null;
  /**
   * Unique identifier of the run.
   */
  id: string;
  /**
   * Time from one schedule to the next (ns).
   */
  interval_ns?: Exact | null;
  /**
   * Why the run is no result, as the end of a sentence; null if it is one.
   */
  invalid_because?: string | null;
  /**
   * A label for people: `idle`, `under paper load`.
   */
  label: string;
  /**
   * What the source of an imported run does not contain, in words; empty for this program's own runs.
   */
  lacks: string[];
  /**
   * What the load did; null unless the load consists of parts.
   */
  load?: LoadView | null;
  /**
   * Whether a load ran during the run.
   */
  loaded: boolean;
  /**
   * What was requested, what the kernel granted, and the conditions of the run: the manifest of the record.
   */
  manifest: {
    [k: string]: unknown;
  };
  /**
   * The kind of measurement: `wakeup`, `clock`, `noise`, `app`, `sync`.
   */
  measurement: string;
  /**
   * Host name of the machine.
   */
  node: string;
  /**
   * Disturbances that could not be observed on this machine, in words; they do not change the state.
   */
  not_observable: string[];
  /**
   * What was seen of packets between nodes; null except in runs of `packet`.
   */
  packets?: PacketView | null;
  /**
   * The followed program; null except in runs of `app`.
   */
  program?: ProgramView | null;
  /**
   * Nodes that act together; null except in runs of `pulse`.
   */
  pulses?: PulseView | null;
  /**
   * The reasons for that state, the worst first.
   */
  reasons: ReasonView[];
  /**
   * Rhythms among the late samples; null if no scan was requested.
   */
  rhythm?: RhythmScanView | null;
  /**
   * The longest bursts of missed or late periods, those that missed the most first.
   */
  rows: RowView[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * One series for each latency, place and variant.
   */
  series: SeriesView[];
  /**
   * How many spoiled intervals the record did not keep one by one, as a sentence; null if it kept all.
   */
  spoiled_not_kept?: string | null;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  started_realtime_ns: string;
  /**
   * How far the numbers can be trusted.
   */
  state: "valid" | "degraded" | "invalid";
  /**
   * What was seen of time services and clocks; null except in runs of `sync`.
   */
  sync?: SyncView | null;
  /**
   * IANA name of the node's time zone.
   */
  time_zone?: string | null;
  /**
   * The verdict on the deadline; null if none was stated.
   */
  verdict?: VerdictView | null;
  /**
   * The worst samples, worst first.
   */
  worst: WorstView[];
}
/**
 * Edges that were answered, and what a witness saw of it.
 */
export interface AnswerView {
  /**
   * What was counted, and what the witness saw, as sentences with their full stops.
   */
  sentences: string[];
  /**
   * Which of the witness's seconds are shown, as the words before their table; empty without any.
   */
  shown: string;
  /**
   * The witness's worst seconds, the worst first; empty without a witness.
   */
  worst_seconds: WitnessSecondView[];
}
/**
 * What a witness said of a second.
 */
export interface WitnessSecondView {
  /**
   * When, from the start of the run, in words.
   */
  at: string;
  /**
   * The longest in words: a lower bound where there are overruns.
   */
  longest: string;
  /**
   * The mean (ns).
   */
  mean_ns?: Exact | null;
  /**
   * The shortest (ns).
   */
  min_ns?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  overruns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
}
/**
 * The causes of the worst samples of a run, with the evidence for them.
 */
export interface ExplanationView {
  /**
   * What the times of a sample are counted from.
   */
  begin: "schedule" | "arrival";
  /**
   * The causes, the one with the most samples first.
   */
  causes: CauseView[];
  /**
   * What to change first; null if no cause was found.
   */
  change?: CauseChangeView | null;
  /**
   * The cost of explaining, in one line; null if it was not measured.
   */
  cost?: string | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  explained: number | string;
  /**
   * Which samples were examined, in words: `samples above 50.0 us`.
   */
  looked_at: string;
  /**
   * Sources that would give better evidence, with what each of them needs.
   */
  missing: string[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  not_recorded: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  outliers: number | string;
  /**
   * The parts of every wake-up; null if they were not recorded.
   */
  parts?: PartsView | null;
  /**
   * The worst of the explained samples, worst first.
   */
  samples: ExplainedSampleView[];
  /**
   * What made most of the worst samples late and how certain that is, or why nothing is known.
   */
  sentence: string;
  /**
   * How samples are distributed over the causes: one entry for each selection of samples.
   */
  shares: ShareView[];
  /**
   * Sources of the evidence; empty if none was available.
   */
  sources: string[];
  /**
   * The different activities in the timelines; the timelines refer to them by index.
   */
  stretches: StretchView[];
}
/**
 * One cause, summed over the run.
 */
export interface CauseView {
  /**
   * Certainty of the cause: the lowest of all its samples.
   */
  certainty: "shown" | "likely" | "unknown";
  /**
   * Class of the cause.
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
    | "own-sleep"
    | "unknown";
  /**
   * Name of a finding of `check` that has more about it.
   */
  finding?: string | null;
  /**
   * Name of the interrupt, the thread, the function or the idle state; empty if there is none.
   */
  name: string;
  /**
   * What to change to avoid this cause.
   */
  remedy: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  took_ns: number | string;
  /**
   * The class in words.
   */
  words: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  worst_ns: number | string;
}
/**
 * A recommended change against a cause.
 */
export interface CauseChangeView {
  /**
   * Name of a finding of `check` that has more about it.
   */
  finding?: string | null;
  /**
   * What to change, in words.
   */
  remedy: string;
}
/**
 * The parts of all wake-ups of a run, over all threads.
 */
export interface PartsView {
  /**
   * The parts, in chronological order.
   */
  rows: PartRowView[];
  /**
   * How many wake-ups were recorded with their parts, and how many were not.
   */
  sentence: string;
}
/**
 * One part of all wake-ups.
 */
export interface PartRowView {
  /**
   * Maximum length (ns); null if none was recorded.
   */
  max_ns?: Exact | null;
  /**
   * Median length (ns); null if none was recorded.
   */
  median_ns?: Exact | null;
  /**
   * The part, named by its two points: `scheduled_to_timer`.
   */
  name: string;
  /**
   * 99.9 % quantile of the length (ns); null if fewer than ten are above it.
   */
  p999_ns?: Exact | null;
  /**
   * Start and end of the part, in words.
   */
  words: string;
}
/**
 * A late sample with its timeline and its cause.
 */
export interface ExplainedSampleView {
  /**
   * Certainty of the cause.
   */
  certainty: "shown" | "likely" | "unknown";
  /**
   * Class of the cause.
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
    | "own-sleep"
    | "unknown";
  /**
   * The measured CPU.
   */
  cpu: number;
  /**
   * The evidence, in words.
   */
  evidence: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  latency_ns: number | string;
  /**
   * How many segments of the timeline were left out, in a sentence; null if none was.
   */
  left_out?: string | null;
  /**
   * Name of the interrupt, the thread, the function or the idle state; empty if there is none.
   */
  name: string;
  /**
   * What took the time, the longest first.
   */
  parts: DelayPartView[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  parts_left_out: number | string;
  scheduled: MomentView;
  /**
   * Call stack at the place where the delayed timer interrupt was finally taken, the innermost function first.
   */
  stack: string[];
  /**
   * Number of the measuring thread, from 0.
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
   * Name of the interrupt, the thread, the function or the idle state; empty if there is none.
   */
  name: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  net_ns: number | string;
  /**
   * Class of the cause, in words.
   */
  words: string;
}
/**
 * When the thread was scheduled to wake.
 */
export interface MomentView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * What the CPU did around the delay.
 */
export interface TimelineView {
  /**
   * Nesting depth: the number of other segments that each segment interrupts.
   */
  depth: number[];
  /**
   * Start of each segment (ns, negative before the scheduled wake-up).
   */
  from_ns: Exact[];
  /**
   * Duration of each segment without the time of what interrupted it (ns).
   */
  net_ns: Exact[];
  /**
   * The activity: an index into `stretches` of the explanation, from 0.
   */
  stretch: number[];
  /**
   * End of each segment (ns).
   */
  to_ns: Exact[];
}
/**
 * How a selection of samples is distributed over the causes.
 */
export interface ShareView {
  /**
   * Number of these samples for each cause, in the order of the causes.
   */
  causes: Exact[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  not_explained: number | string;
  /**
   * Their share in words.
   */
  not_explained_percent: string;
  /**
   * The selection, in words: `samples above the deadline of 100 us`.
   */
  of: string;
  /**
   * The share of each cause in words, in the same order: "19 %". In whole percent, all shares of a selection add up to 100.
   */
  percents: string[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  total: number | string;
}
/**
 * An activity of a CPU that occurs in the timelines.
 */
export interface StretchView {
  /**
   * Kind of activity.
   */
  activity: "idle" | "thread" | "measuring" | "softirq" | "interrupt" | "timer-function" | "nmi" | "untold";
  /**
   * Name of the activity: the thread with its ID, the interrupt, the function, the idle state.
   */
  name: string;
}
/**
 * A load, with what it did and what its parts achieved.
 */
export interface LoadView {
  /**
   * The times of switching from one turn to the next; null if there were no turns.
   */
  between?: LoadTurnView | null;
  /**
   * What the load consisted of, in words: `stress-ng: 3 CPU workers at 25 %, 1 timer worker`; null if unknown.
   */
  description?: string | null;
  /**
   * Name of the load: `hard`, `paper`, …
   */
  name: string;
  /**
   * The parts, including those that did not run; empty if the load does not consist of parts.
   */
  parts: LoadPartView[];
  /**
   * What it consisted of, where, and how much CPU time it used, as a clause: "load 'hard': …; it used 0.83 CPUs".
   */
  sentence: string;
  /**
   * Conclusions from the turns, in whole sentences.
   */
  sentences: string[];
  /**
   * Fraction of the time during which the load's programs ran (above 0, up to 1); null if they ran all the time.
   */
  share?: number | null;
  /**
   * Which parts ran when; empty if all ran all the time.
   */
  turns: LoadTurnView[];
}
/**
 * The latencies during one turn, while certain parts ran.
 */
export interface LoadTurnView {
  /**
   * Samples above the deadline; null if none was stated.
   */
  beyond?: Exact | null;
  /**
   * Start of the turn, counted from the run's first schedule (ns, negative if earlier); null for the time between turns.
   */
  from_offset_ns?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  missed_periods: number | string;
  /**
   * Name of the part or parts that ran.
   */
  name: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  observed_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * End of the turn, counted from the run's first schedule (ns); null for the time between turns.
   */
  to_offset_ns?: Exact | null;
  /**
   * The CPU on which the worst latency occurred.
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
   * What the part did while it was active, in words: `61 493 packets received per second`.
   */
  achieved: string[];
  /**
   * CPU time that the part used while it was active, in CPUs (1.0 is one CPU all the time).
   */
  cpu_used?: number | null;
  /**
   * Why the part did not run, in words; null if it ran.
   */
  dropped?: string | null;
  /**
   * What was missing for the part on this machine, in words; it ran without that.
   */
  lacks: string[];
  /**
   * Name of the part: `memory`, `network`, …
   */
  name: string;
}
/**
 * What was seen of the packets of a run.
 */
export interface PacketView {
  /**
   * The comparison of the nodes' clocks, as each of the nodes saw it.
   */
  clocks: PacketClocksView[];
  /**
   * Why receivers had packets late that their kernels already had, of each node whose user asked for it.
   */
  explanations: PacketExplanationView[];
  /**
   * The flows: one for each direction in which packets were sent.
   */
  flows: PacketFlowView[];
  /**
   * What the network interface of each node stamped, as a sentence without its full stop; empty if nobody asked for its stamps.
   */
  hardware: string[];
  /**
   * The worst packets of all flows, worst first.
   */
  worst: PacketWorstView[];
}
/**
 * The comparison of a node's clock with its partner's.
 */
export interface PacketClocksView {
  /**
   * Name of the node.
   */
  node: string;
  /**
   * Name of its partner.
   */
  partner: string;
  /**
   * What the comparison came to, as a sentence.
   */
  sentence: string;
  /**
   * What the time services of both nodes together say, for each pair of them that has one reference: their bound over time, and
   * as a sentence, in the form of a source of time.
   */
  services: SyncSourceView[];
  source: SyncSourceView1;
}
/**
 * One source of time: a service, or a pair of clocks that are compared.
 */
export interface SyncSourceView {
  allan: SyncAllanView;
  /**
   * Offsets below zero, by their magnitude; null if there are none.
   */
  below_zero?: HistogramView | null;
  /**
   * Bounds on the offset that hold without trust in a servo; null if there are none.
   */
  bound?: SyncBoundView | null;
  /**
   * The hard bound with what it trusts, or why there is none, as a sentence.
   */
  bound_sentence: string;
  /**
   * The clock that is compared with the reference.
   */
  clock: string;
  /**
   * What could be missed, in words.
   */
  could_be_missed: string[];
  /**
   * Offsets of zero and above; null if there was no offset.
   */
  from_zero?: HistogramView | null;
  /**
   * By how much the offset would have grown without corrections; absent if that is not known.
   */
  growth_sentence?: string | null;
  /**
   * Whether a stated limit applies to its offsets.
   */
  judged: boolean;
  /**
   * Service and place, unique among the sources of the run: `ptp4l eth0 domain 0`.
   */
  name: string;
  /**
   * What the service itself says of its offset, as a sentence that says whose view it is; null if it says nothing.
   */
  own_estimate_sentence?: string | null;
  /**
   * The place of its series, in words: `eth0 domain 0`.
   */
  place: string;
  /**
   * What the clock is compared with, in words.
   */
  reference: string;
  /**
   * Spread of the offsets; null if there were none.
   */
  spread?: SyncSpreadView | null;
  /**
   * The state at the end of the run; null if none was seen.
   */
  state?: SyncStateView | null;
  /**
   * State of the source over time: each entry holds from its moment until the next one.
   */
  states: SyncStateChangeView[];
  track: SyncTrackView;
  /**
   * The program's version; null if it is not known.
   */
  version?: string | null;
}
/**
 * Allan deviation of the offsets, shortest averaging time first.
 */
export interface SyncAllanView {
  /**
   * The averaging times (ns).
   */
  averaging_ns: Exact[];
  /**
   * Number of second differences that each was computed from.
   */
  count: Exact[];
  /**
   * The deviation at each: a ratio of frequencies, without unit.
   */
  deviation: number[];
}
/**
 * Bounds on an offset during a run.
 */
export interface SyncBoundView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  highest_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  lowest_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  widest_ns: number | string;
}
/**
 * How offsets are spread.
 */
export interface SyncSpreadView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  count: number | string;
  /**
   * Standard deviation about the mean (ns).
   */
  deviation_ns: number;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  highest_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  lowest_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  median_ns: number | string;
}
/**
 * A moment at which the state of a source changed.
 */
export interface SyncStateChangeView {
  at: MomentView1;
  /**
   * State of a source of time.
   */
  state: "starting" | "locked" | "reference" | "holdover" | "free" | "lost";
}
/**
 * When it was noticed.
 */
export interface MomentView1 {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * Offset, bound and path delay over time.
 */
export interface SyncTrackView {
  /**
   * Number of offsets that are joined in each point; 0 if only the bound was looked at.
   */
  count: Exact[];
  /**
   * The longest path delay of each point, half of a round trip (ns); null if none was measured.
   */
  delay_ns: (Exact | null)[];
  /**
   * The highest offset of each point (ns); null if it has none.
   */
  highest_ns: (Exact | null)[];
  /**
   * The lowest lower bound of each point (ns); null if it has none.
   */
  lower_bound_ns: (Exact | null)[];
  /**
   * The lowest offset of each point (ns); null if it has none.
   */
  lowest_ns: (Exact | null)[];
  /**
   * When the first offset of each point was taken, since the start of the run (ns).
   */
  offset_ns: Exact[];
  /**
   * The highest upper bound of each point (ns); null if it has none.
   */
  upper_bound_ns: (Exact | null)[];
}
/**
 * One source of time: a service, or a pair of clocks that are compared.
 */
export interface SyncSourceView1 {
  allan: SyncAllanView;
  /**
   * Offsets below zero, by their magnitude; null if there are none.
   */
  below_zero?: HistogramView | null;
  /**
   * Bounds on the offset that hold without trust in a servo; null if there are none.
   */
  bound?: SyncBoundView | null;
  /**
   * The hard bound with what it trusts, or why there is none, as a sentence.
   */
  bound_sentence: string;
  /**
   * The clock that is compared with the reference.
   */
  clock: string;
  /**
   * What could be missed, in words.
   */
  could_be_missed: string[];
  /**
   * Offsets of zero and above; null if there was no offset.
   */
  from_zero?: HistogramView | null;
  /**
   * By how much the offset would have grown without corrections; absent if that is not known.
   */
  growth_sentence?: string | null;
  /**
   * Whether a stated limit applies to its offsets.
   */
  judged: boolean;
  /**
   * Service and place, unique among the sources of the run: `ptp4l eth0 domain 0`.
   */
  name: string;
  /**
   * What the service itself says of its offset, as a sentence that says whose view it is; null if it says nothing.
   */
  own_estimate_sentence?: string | null;
  /**
   * The place of its series, in words: `eth0 domain 0`.
   */
  place: string;
  /**
   * What the clock is compared with, in words.
   */
  reference: string;
  /**
   * Spread of the offsets; null if there were none.
   */
  spread?: SyncSpreadView | null;
  /**
   * The state at the end of the run; null if none was seen.
   */
  state?: SyncStateView | null;
  /**
   * State of the source over time: each entry holds from its moment until the next one.
   */
  states: SyncStateChangeView[];
  track: SyncTrackView;
  /**
   * The program's version; null if it is not known.
   */
  version?: string | null;
}
/**
 * Why the receiver of a node had packets late.
 */
export interface PacketExplanationView {
  explanation: ExplanationView1;
  /**
   * The latency that is explained.
   */
  latency: string;
  /**
   * Name of the node.
   */
  node: string;
  /**
   * That latency and the node in words.
   */
  words: string;
}
/**
 * The causes of the worst samples of a run, with the evidence for them.
 */
export interface ExplanationView1 {
  /**
   * What the times of a sample are counted from.
   */
  begin: "schedule" | "arrival";
  /**
   * The causes, the one with the most samples first.
   */
  causes: CauseView[];
  /**
   * What to change first; null if no cause was found.
   */
  change?: CauseChangeView | null;
  /**
   * The cost of explaining, in one line; null if it was not measured.
   */
  cost?: string | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  explained: number | string;
  /**
   * Which samples were examined, in words: `samples above 50.0 us`.
   */
  looked_at: string;
  /**
   * Sources that would give better evidence, with what each of them needs.
   */
  missing: string[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  not_recorded: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  outliers: number | string;
  /**
   * The parts of every wake-up; null if they were not recorded.
   */
  parts?: PartsView | null;
  /**
   * The worst of the explained samples, worst first.
   */
  samples: ExplainedSampleView[];
  /**
   * What made most of the worst samples late and how certain that is, or why nothing is known.
   */
  sentence: string;
  /**
   * How samples are distributed over the causes: one entry for each selection of samples.
   */
  shares: ShareView[];
  /**
   * Sources of the evidence; empty if none was available.
   */
  sources: string[];
  /**
   * The different activities in the timelines; the timelines refer to them by index.
   */
  stretches: StretchView[];
}
/**
 * One flow of packets.
 */
export interface PacketFlowView {
  arrivals: PacketArrivalsView;
  /**
   * Packets that arrived, each counted once; null if the receiver did not report.
   */
  arrived?: Exact | null;
  /**
   * What was counted, as a sentence.
   */
  counts_sentence: string;
  /**
   * From the sending program to the receiving program; null if no packet has a delay.
   */
  delay?: PacketDelayView | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  doubled: number | string;
  /**
   * Number of the flow.
   */
  flow: number;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  foreign: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  forged: number | string;
  /**
   * Name of the node that sent.
   */
  from: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  interval_ns: number | string;
  /**
   * How late packets were sent; null if the sender did not report.
   */
  lateness?: PacketDelayView | null;
  /**
   * When packets were to leave, in words: "to leave 500 us after their schedule (fq on the clock monotonic)"; null if they had
   * no launch times.
   */
  launch?: string | null;
  /**
   * How long after its launch time the driver had each packet; null if there was none, or no stamp.
   */
  launched?: PacketDelayView | null;
  /**
   * Packets that were sent and did not arrive; null if one of the nodes did not report.
   */
  lost?: Exact | null;
  over_time: PacketDelaysView;
  /**
   * The parts of the delay in the order in which a packet passes them.
   */
  parts: PacketPartView[];
  /**
   * The parts as a sentence, with what is missing of them; null if no part is known.
   */
  parts_sentence?: string | null;
  /**
   * The way through both systems, in words: "UDP over IPv4"; null if it is not known.
   */
  path?: string | null;
  /**
   * How the receiver waited for packets: `block`, `poll` or `schedule`; null if it is not known.
   */
  receiver?: string | null;
  /**
   * Packets that the sending system refused; null if the sender did not report.
   */
  refused?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  reordered: number | string;
  /**
   * Both in words; what is not known is named: "128 bytes every 1 ms".
   */
  schedule: string;
  /**
   * Packets that were sent; null if the sender did not report.
   */
  sent?: Exact | null;
  /**
   * Number of the series of its delays among those of the run, from 0; null if no packet has a delay.
   */
  series?: number | null;
  /**
   * Payload of each packet (bytes).
   */
  size_bytes: number;
  /**
   * Schedules for which the sender was too late; null if the sender did not report.
   */
  skipped?: Exact | null;
  /**
   * Name of the node that received.
   */
  to: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  too_old: number | string;
}
/**
 * Arrivals over time.
 */
export interface PacketArrivalsView {
  /**
   * Packets that arrived.
   */
  arrived: Exact[];
  /**
   * Copies of packets that had arrived before.
   */
  doubled: Exact[];
  /**
   * Length of each interval (ns).
   */
  length_ns: Exact[];
  /**
   * Packets known to be sent and not arrived until the end of the interval, since the start of the run.
   */
  missing: Exact[];
  /**
   * Packets that arrived after one that was sent later.
   */
  reordered: Exact[];
  /**
   * Packets of which the receiver learned that they were sent.
   */
  sent: Exact[];
  /**
   * Start of each interval, counted from the start of the run on the receiver (ns).
   */
  start_offset_ns: Exact[];
}
/**
 * The distribution of a latency in a few numbers.
 */
export interface PacketDelayView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  count: number | string;
  /**
   * The largest error of a packet; null if both points are readings of one clock, which has none, and if nothing is known of it.
   */
  error?: PacketErrorView | null;
  /**
   * The error of the highest; null if there is none, and if nothing is known of it.
   */
  error_of_highest?: PacketErrorView | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  highest_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  lowest_ns: number | string;
  /**
   * The mean (ns).
   */
  mean_ns: number;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  median_ns: number | string;
  /**
   * The value that 99.9 % do not exceed (ns); null if there are too few packets for it.
   */
  p99_9_ns?: Exact | null;
  /**
   * Between which points it is: "one way" from program to program.
   */
  way: string;
}
/**
 * By how much a value can be wrong.
 */
export interface PacketErrorView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  above_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  below_ns: number | string;
  /**
   * Both in words: "±10.9 us".
   */
  words: string;
}
/**
 * Delays over time.
 */
export interface PacketDelaysView {
  /**
   * By how much the true values of each interval can be higher (ns); null if that is not known.
   */
  above_ns: (Exact | null)[];
  /**
   * By how much the true values of each interval can be lower (ns); null if that is not known.
   */
  below_ns: (Exact | null)[];
  /**
   * Packets that arrived in each interval and have a delay.
   */
  count: Exact[];
  /**
   * The highest of each interval (ns); null if it has no packet.
   */
  highest_ns: (Exact | null)[];
  /**
   * Length of each interval (ns).
   */
  length_ns: Exact[];
  /**
   * The median of each interval (ns); null if it has no packet.
   */
  median_ns: (Exact | null)[];
  /**
   * Start of each interval, counted from the start of the run (ns).
   */
  start_offset_ns: Exact[];
}
/**
 * One part of the way from program to program.
 */
export interface PacketPartView {
  /**
   * Its distribution; null if no packet has it.
   */
  delay?: PacketDelayView | null;
  /**
   * Packets that arrived, and of which this part is not known; null if that was not counted.
   */
  missing?: Exact | null;
  /**
   * The latency, named by its two points: `sent_to_transmitted`.
   */
  name: string;
  /**
   * This part of the worst packet (ns); null if it is not known.
   */
  of_worst_ns?: Exact | null;
  /**
   * The part in words: "sending program to driver".
   */
  words: string;
}
/**
 * One of the worst packets.
 */
export interface PacketWorstView {
  at: MomentView2;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  delay_ns: number | string;
  /**
   * The error of the delay; null if it is not known.
   */
  error?: PacketErrorView | null;
  /**
   * The flow, in words: "vm → press-7".
   */
  flow: string;
  /**
   * The parts of the delay (ns), in the order of [`PacketFlowView::parts`] of its flow; null where one is not known.
   */
  parts_ns: (Exact | null)[];
}
/**
 * When the program sent it, on the receiver's clock.
 */
export interface MomentView2 {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * A followed program.
 */
export interface ProgramView {
  cost: FollowingCostView;
  /**
   * How the program ended; null if it outlived the run.
   */
  ended?: string | null;
  /**
   * What the audit looked for inside the loops and what it could not tell, in sentences; empty if nothing is to be said.
   */
  looked_for: string[];
  /**
   * The followed threads.
   */
  threads: FollowedThreadView[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  threads_left_out: number | string;
  /**
   * The command, or the process that was named.
   */
  what: string;
}
/**
 * What tracing cost the program.
 */
export interface FollowingCostView {
  /**
   * Cost of one event for the thread that causes it (ns).
   */
  event_ns?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  events: number | string;
  /**
   * Events per activation.
   */
  events_per_activation?: number | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  lost_events: number | string;
  /**
   * CPU time for reading the events, in CPUs (1.0 is one CPU all the time).
   */
  own_cpu: number;
  /**
   * Time from the kernel's event for the return of a sleep to a reading of the clock in user space (ns).
   */
  return_ns?: Exact | null;
}
/**
 * One followed thread.
 */
export interface FollowedThreadView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  activations: number | string;
  /**
   * Whether the thread ended during the run.
   */
  ended: boolean;
  /**
   * Schedules that late wake-ups skipped; null if the requested wake-up times are unknown.
   */
  missed_periods?: Exact | null;
  /**
   * Name of the thread (comm), the last one if it changed.
   */
  name: string;
  /**
   * Period of the loop (ns); null if it has none.
   */
  period_ns?: Exact | null;
  periods: HistogramView1;
  /**
   * Name of the scheduling policy.
   */
  policy: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  preempted: number | string;
  /**
   * The threads that preempted it, the one with the longest total time first.
   */
  preempted_by: PreemptionView[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  preempted_ns: number | string;
  /**
   * Real-time priority; 0 if the policy has none.
   */
  priority: number;
  /**
   * Number of the thread in the series, from 0.
   */
  thread: number;
  /**
   * Kernel thread ID.
   */
  tid: number;
  /**
   * The system call in which its loop waits; null if no loop was recognized.
   */
  waits_by?: string | null;
}
/**
 * A histogram with exact statistics.
 */
export interface HistogramView1 {
  bins: Bins;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  count: number | string;
  /**
   * Exact largest sample (ns).
   */
  max_ns?: Exact | null;
  /**
   * Mean of the samples (ns).
   */
  mean_ns?: number | null;
  /**
   * Exact smallest sample (ns).
   */
  min_ns?: Exact | null;
  /**
   * The quantiles for which there are enough samples.
   */
  quantiles: QuantileView[];
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
  /**
   * Samples that are in no bin, because an import's source gave only their range.
   */
  unplaced?: Exact | null;
  /**
   * The lowest value that these samples can have (ns); the highest is the maximum. Null if there are none.
   */
  unplaced_from_ns?: Exact | null;
}
/**
 * A thread that preempted a followed thread.
 */
export interface PreemptionView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  longest_ns: number | string;
  /**
   * Name of the preempting thread.
   */
  name: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  times: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  total_ns: number | string;
}
/**
 * Nodes that act together at ordered times.
 */
export interface PulseView {
  /**
   * How far from each other any two nodes acted, as a sentence without its full stop; null where that is not known.
   */
  apart?: string | null;
  /**
   * How often misses come, as a sentence without its full stop.
   */
  bursts: string;
  /**
   * What the counts of a node are called, in the order of `counts`.
   */
  counted: string[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  lead_ns: number | string;
  /**
   * The nodes that act.
   */
  nodes: ActingNodeView[];
  /**
   * What was ordered, as a sentence without its full stop.
   */
  ordered: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  tolerance_ns: number | string;
  /**
   * What became of the schedules, as a sentence without its full stop.
   */
  trials: string;
}
/**
 * A node that acts.
 */
export interface ActingNodeView {
  /**
   * Index of the series of how late it acted, in the series of the run; null if there is none.
   */
  act_series?: number | null;
  /**
   * How many of its orders became what, in the order of `counted`.
   */
  counts: Exact[];
  /**
   * The lead that its orders needed, as a sentence without its full stop; null if none arrived.
   */
  needed?: string | null;
  /**
   * Index of the series of the lead that was needed; null if there is none.
   */
  needed_series?: number | null;
  /**
   * Name of the node.
   */
  node: string;
  /**
   * What it switches.
   */
  output: string;
  /**
   * How late it acted, what switching takes and the lead that was needed: those of which there is an order.
   */
  rows: ActingRowView[];
  /**
   * How far from the ordered time its edges lie, as a sentence without its full stop; null if it did not act.
   */
  within?: string | null;
}
/**
 * Figures of a latency of a node that acts.
 */
export interface ActingRowView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  count: number | string;
  /**
   * The lowest (ns).
   */
  lowest_ns?: Exact | null;
  /**
   * Median (ns).
   */
  median_ns?: Exact | null;
  /**
   * What 99.9 % do not exceed (ns); null of too few orders.
   */
  p99_9_ns?: Exact | null;
  /**
   * What lies between its points, in a few words.
   */
  words: string;
  /**
   * The worst (ns).
   */
  worst_ns?: Exact | null;
}
/**
 * A reason why a run is degraded or invalid.
 */
export interface ReasonView {
  /**
   * Name of the reason in the table of reasons: `rt-throttled`.
   */
  code: string;
  /**
   * What was seen in this run, with numbers and places.
   */
  detail: string;
  /**
   * What happened to the run, as a sentence.
   */
  meaning: string;
  /**
   * What to do about it.
   */
  remedy: string;
  /**
   * The state that the reason causes.
   */
  state: "valid" | "degraded" | "invalid";
}
/**
 * The result of a scan for rhythms among late samples.
 */
export interface RhythmScanView {
  /**
   * Periods that the sampling interval hides, in words.
   */
  hidden: string[];
  /**
   * The rhythms found, the one with the largest summed latency first.
   */
  rhythms: RhythmView[];
  /**
   * The range of periods that was scanned, the number of samples, and whether there are no further rhythms, in a
   * sentence.
   */
  sentence: string;
}
/**
 * One rhythm, with the late samples folded into its period.
 */
export interface RhythmView {
  /**
   * The end of the delays that has a constant phase: `begin` or `end`.
   */
  end: string;
  /**
   * The latency of each sample in `folded_ns` (ns).
   */
  folded_latency_ns: Exact[];
  /**
   * Position in the period of each late sample (ns); the worst few hundred.
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
   * How many late samples recur with which period, and the likely cause.
   */
  sentence: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  width_ns: number | string;
}
/**
 * A burst: consecutive periods that were missed or late.
 */
export interface RowView {
  /**
   * The measured CPU.
   */
  cpu?: number | null;
  first_scheduled: MomentView3;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  missed_periods: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  periods: number | string;
  /**
   * Where the periods were missed, in words: `CPU 3`.
   */
  place: string;
  /**
   * That time in words, or that the run ended before; null if nothing was missed.
   */
  recovery?: string | null;
  /**
   * Time from the first missed schedule to the first wake-up that was again in time (ns); null if there is none.
   */
  recovery_ns?: Exact | null;
  /**
   * Number of the thread, from 0; null if the place is no thread.
   */
  thread?: number | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  worst_ns: number | string;
}
/**
 * When the first late wake-up was scheduled.
 */
export interface MomentView3 {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * The samples of one latency at one place.
 */
export interface SeriesView {
  /**
   * Samples below zero, by their magnitude; null if there are none.
   */
  below_zero?: HistogramView | null;
  /**
   * The corrected view: every sample, plus one for each schedule that a late wake-up skipped. Null if none was skipped.
   */
  corrected?: HistogramView | null;
  /**
   * Counters by name; a counter is absent if it was not counted.
   */
  counters: {
    [k: string]: Exact;
  };
  /**
   * The measured CPU.
   */
  cpu?: number | null;
  figures: FiguresView;
  histogram: HistogramView2;
  intervals: IntervalsView;
  /**
   * Whether a deadline applies to this latency; one that stands beside it is not what the run is judged by.
   */
  judged: boolean;
  /**
   * Label of the series, unique among those of the same name: `CPU 3`, or `CPU 3, thread 1` if threads share a CPU.
   */
  lane: string;
  /**
   * When the maximum was taken.
   */
  max_at?: MomentView4 | null;
  /**
   * Median of the means of all blocks of 1,000 clock readings, in words; only for `clock`.
   */
  mean_of_blocks?: string | null;
  /**
   * Schedules that late wake-ups skipped; null if the samples follow no schedule, or if the source did not count them.
   */
  missed_periods?: Exact | null;
  /**
   * The latency, named by its two points: `scheduled_to_woke`.
   */
  name: string;
  /**
   * Where it was measured, in words: `CPU 3`, `CPU 1 to 2`.
   */
  place: string;
  /**
   * Intervals that something spoiled: in none of the numbers of the series.
   */
  spoiled: SpoiledView[];
  /**
   * The share of the time that gaps took from a thread that never sleeps, in words; only for `noise`.
   */
  stolen?: string | null;
  /**
   * Number of the thread, from 0; null if the place is no thread.
   */
  thread?: number | null;
  /**
   * Distinguishes series of the same name and place; empty if there is only one.
   */
  variant: string;
}
/**
 * The figures of every sample with its sign, as tables state them. If a deadline applies to the magnitude: of all magnitudes,
 * as the histogram.
 */
export interface FiguresView {
  /**
   * Exact highest sample (ns).
   */
  highest_ns?: Exact | null;
  /**
   * Exact lowest sample (ns).
   */
  lowest_ns?: Exact | null;
  /**
   * Mean of the samples (ns).
   */
  mean_ns?: number | null;
  /**
   * The median, and the quantiles with at least ten samples above them.
   */
  quantiles: QuantileView[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
}
/**
 * A histogram with exact statistics.
 */
export interface HistogramView2 {
  bins: Bins;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  count: number | string;
  /**
   * Exact largest sample (ns).
   */
  max_ns?: Exact | null;
  /**
   * Mean of the samples (ns).
   */
  mean_ns?: number | null;
  /**
   * Exact smallest sample (ns).
   */
  min_ns?: Exact | null;
  /**
   * The quantiles for which there are enough samples.
   */
  quantiles: QuantileView[];
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
  /**
   * Samples that are in no bin, because an import's source gave only their range.
   */
  unplaced?: Exact | null;
  /**
   * The lowest value that these samples can have (ns); the highest is the maximum. Null if there are none.
   */
  unplaced_from_ns?: Exact | null;
}
/**
 * The intervals of the run.
 */
export interface IntervalsView {
  /**
   * Samples in each interval.
   */
  count: Exact[];
  heat: HeatView;
  /**
   * Length of each interval (ns).
   */
  length_ns: Exact[];
  /**
   * Exact maximum of each interval (ns); null if it has no samples.
   */
  max_ns: (Exact | null)[];
  /**
   * Schedules that late wake-ups of each interval skipped.
   */
  missed_periods: Exact[];
  /**
   * Start of each interval, counted from the run's first schedule (ns).
   */
  start_offset_ns: Exact[];
}
/**
 * Coarse histograms of the intervals, for the heat map.
 */
export interface HeatView {
  /**
   * For each interval: the indices of its non-empty bins.
   */
  bin: number[][];
  /**
   * For each interval: the samples in each of these bins.
   */
  count: Exact[][];
}
/**
 * A point in time during a run.
 */
export interface MomentView4 {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * An interval that does not stand, with the figures that it would have had.
 */
export interface SpoiledView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  length_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  missed_periods: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  start_offset_ns: number | string;
  /**
   * What spoiled it, in words.
   */
  why: string;
  /**
   * The worst of its samples in words; null if there are none.
   */
  worst?: string | null;
}
/**
 * What was seen of the sources of time during a run.
 */
export interface SyncView {
  /**
   * What changed during the run, in the order of time.
   */
  events: SyncEventView[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  events_left_out: number | string;
  /**
   * How much the rate of an uncorrected clock is assumed to differ from the reference's at most (parts per billion).
   */
  max_drift_ppb: number;
  /**
   * Sources that are there and could not be followed, each with the reason, in words.
   */
  not_followed: string[];
  /**
   * The sources, in the order in which they were found.
   */
  sources: SyncSourceView[];
}
/**
 * Something that changed at one moment.
 */
export interface SyncEventView {
  at: MomentView5;
  /**
   * The details, in words.
   */
  detail: string;
  /**
   * Name of the source that it concerns.
   */
  source: string;
  /**
   * What happened, in a word or two: `step`, `reference`.
   */
  what: string;
}
/**
 * A point in time during a run.
 */
export interface MomentView5 {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * The verdict of a run on its deadline.
 */
export interface VerdictView {
  /**
   * Samples above the deadline.
   */
  beyond?: Exact | null;
  /**
   * The verdict in words, with its reason.
   */
  reason: string;
  /**
   * The verdict: `holds`, `broken` or `cannot-tell`.
   */
  state: "holds" | "broken" | "cannot-tell" | "no-deadline" | "empty";
}
/**
 * One of the worst samples of a run.
 */
export interface WorstView {
  /**
   * The cause with its certainty, `unknown` if it was examined without finding one, `not explained` if nothing was recorded of
   * it; null if the run did not look for causes.
   */
  cause?: string | null;
  /**
   * The measured CPU.
   */
  cpu?: number | null;
  from: MomentView6;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  latency_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  missed_periods: number | string;
  /**
   * Where the sample was taken, in words: `CPU 3`.
   */
  place: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  sample: number | string;
  /**
   * Number of the thread, from 0; null if the place is no thread.
   */
  thread?: number | null;
}
/**
 * A point in time during a run.
 */
export interface MomentView6 {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  offset_ns: number | string;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  realtime_ns: string;
}
/**
 * The worst cases that one latency of one run predicts.
 */
export interface TailView {
  /**
   * The tail by cause; null if the run has no explanation.
   */
  by_cause?: ByCauseView | null;
  /**
   * Where the maxima change most, in measured time (ns); null if no change is shown.
   */
  change_ns?: Exact | null;
  /**
   * The answer to a claim; null if none was made.
   */
  claim?: ClaimView | null;
  curve: CurveView;
  /**
   * The prediction for each requested horizon.
   */
  expectations: ExpectationView[];
  /**
   * The method, in one line.
   */
  how: string;
  /**
   * The heading of the prediction intervals in a table.
   */
  interval: string;
  /**
   * Label of the run, with the latency if its kind has several.
   */
  label: string;
  /**
   * Coverage of the prediction intervals (0 to 1).
   */
  level: number;
  maxima: MaximaView;
  /**
   * What is known without any model.
   */
  model_free: string;
  /**
   * Further remarks that are needed to read the numbers.
   */
  notes: string[];
  /**
   * Reasons why predictions are refused, the most severe first.
   */
  refusals: string[];
  /**
   * Unique identifier of the run.
   */
  run: string;
  seen: SeenView;
  /**
   * What the run predicts, or why it predicts nothing.
   */
  sentence: string;
  /**
   * The result on stationarity, in a sentence.
   */
  stationarity: string;
  /**
   * Whether no evidence against stationarity was found: the process may have stayed the same during the run.
   */
  stationary: boolean;
}
/**
 * The causes of the samples above a level, and the worst case that would remain without them.
 */
export interface ByCauseView {
  /**
   * What removing a cause would gain, in a sentence, or why that is unknown.
   */
  sentence: string;
  table: CauseRows;
}
/**
 * The causes in words.
 */
export interface CauseRows {
  /**
   * The level above which the causes of nearly all samples are known.
   */
  above: string;
  /**
   * The causes, the one with the worst sample first.
   */
  rows: CauseRow[];
}
/**
 * A cause of a tail in words.
 */
export interface CauseRow {
  /**
   * What made the samples late: its class, and its name where it has one.
   */
  cause: string;
  /**
   * Samples above the level with this cause.
   */
  samples: string;
  /**
   * How often a day it comes: a 90 % interval.
   */
  times_a_day: string;
  /**
   * The worst of its samples.
   */
  worst: string;
  /**
   * The worst that would be left without it, and without those above it in the table where that is said; null if unknown.
   */
  worst_left?: string | null;
}
/**
 * The answer to a claim.
 */
export interface ClaimView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  horizon_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  limit_ns: number | string;
  /**
   * The answer in a sentence.
   */
  sentence: string;
  /**
   * Whether the claim is shown.
   */
  shown: boolean;
  /**
   * The answer in one word: `shown`, `broken`, …
   */
  word: string;
}
/**
 * The predicted worst case as a function of the horizon; without points if it is refused.
 */
export interface CurveView {
  /**
   * Upper end of each prediction interval (ns).
   */
  high_ns: number[];
  /**
   * Horizons (ns), ascending.
   */
  horizon_ns: Exact[];
  /**
   * Lower end of each prediction interval (ns).
   */
  low_ns: number[];
  /**
   * Middle of each prediction interval (ns).
   */
  typical_ns: number[];
}
/**
 * The predicted worst case for one horizon: a length of time to come.
 */
export interface ExpectationView {
  /**
   * Upper end of the prediction interval (ns); null if the prediction is refused.
   */
  high_ns?: number | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  horizon_ns: number | string;
  /**
   * Lower end of the prediction interval (ns); null if the prediction is refused.
   */
  low_ns?: number | null;
  /**
   * Middle of the prediction interval (ns); null if the prediction is refused.
   */
  typical_ns?: number | null;
  words: ExpectationRow;
}
/**
 * The same in words, or why it is refused.
 */
export interface ExpectationRow {
  /**
   * The probability of one beyond the worst that was seen, without any model; null if it is unknown.
   */
  beyond_worst_seen?: string | null;
  /**
   * What the prediction rests on; null without one.
   */
  by?: string | null;
  /**
   * Where the worst case will lie, or its bound; null without a prediction.
   */
  interval?: string | null;
  /**
   * Why there is no prediction; null if there is one.
   */
  refusal?: string | null;
  /**
   * The middle of the interval; null without a prediction, and if only a bound is known.
   */
  typical?: string | null;
  /**
   * The time to come: "1 day".
   */
  within: string;
}
/**
 * Interval maxima in chronological order.
 */
export interface MaximaView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  length_ns: number | string;
  /**
   * Maximum of each interval (ns).
   */
  max_ns: Exact[];
  /**
   * Median of the interval maxima of each part (ns).
   */
  part_median_ns: number[];
  /**
   * Starts of the equal parts into which the run is divided (ns).
   */
  part_start_ns: Exact[];
  /**
   * Start of each interval, in measured time (ns).
   */
  start_ns: Exact[];
}
/**
 * Measured maxima with their return periods.
 */
export interface SeenView {
  /**
   * Return period: the time in which one maximum as large is expected (ns), ascending.
   */
  horizon_ns: Exact[];
  /**
   * The maximum (ns).
   */
  max_ns: Exact[];
}
/**
 * The sums over all runs of wake-ups that are not invalid.
 */
export interface TotalsView {
  /**
   * Samples above the deadline of their run; null if no run has one.
   */
  beyond?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  invalid_runs: number | string;
  /**
   * Schedules that late wake-ups skipped; null if no source counted them.
   */
  missed_periods?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  observed_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  runs: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * The sums in one line: "4 800 530 wake-ups in 20 min, 7 beyond the deadline, 34 periods missed."
   */
  sentence: string;
  /**
   * What the samples are called: `wake-ups`.
   */
  what: string;
}
/**
 * The changes that the assessment recommends.
 */
export interface AssessmentView {
  /**
   * Recommended changes, the most promising first.
   */
  changes: ChangeView[];
  /**
   * Heading of the list of changes; it depends on whether the deadline holds.
   */
  changes_heading: string;
}
/**
 * A recommended change.
 */
export interface ChangeView {
  /**
   * Number of samples that the estimate is based on.
   */
  basis_samples?: Exact | null;
  /**
   * Name of the finding that recommends it.
   */
  finding?: string | null;
  /**
   * Commands or settings that make the change.
   */
  how: string[];
  /**
   * Estimated share of the samples above the deadline that the change would remove (0 to 1); null if no measurement
   * supports an estimate.
   */
  removes_share_of_beyond?: number | null;
  /**
   * Certainty of the attribution: "shown" or "likely".
   */
  sureness?: string | null;
  /**
   * The change in a few words.
   */
  title: string;
  /**
   * Why the change matters on this machine.
   */
  why: string;
  /**
   * The worst latency attributed to what the change removes (ns).
   */
  worst_ns?: Exact | null;
}
/**
 * The measured runs.
 */
export interface ResultsView1 {
  /**
   * Findings from the profile, the most severe first.
   */
  findings: Finding[];
  /**
   * What makes wake-ups late; null if the deadline holds, or if no run was examined for it.
   */
  late_causes?: LateCausesView | null;
  /**
   * What the page begins with if it has many runs; null if they are few, and shown side by side.
   */
  overview?: OverviewView | null;
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
   * Predicted worst cases of each wake-up run, those under load first.
   */
  tails: TailView[];
  /**
   * The sums over all runs of wake-ups that are not invalid; null if there is none. The sentence of the headline uses the
   * same numbers.
   */
  totals?: TotalsView | null;
}
/**
 * The measured runs.
 */
export interface ResultsView2 {
  /**
   * Findings from the profile, the most severe first.
   */
  findings: Finding[];
  /**
   * What makes wake-ups late; null if the deadline holds, or if no run was examined for it.
   */
  late_causes?: LateCausesView | null;
  /**
   * What the page begins with if it has many runs; null if they are few, and shown side by side.
   */
  overview?: OverviewView | null;
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
   * Predicted worst cases of each wake-up run, those under load first.
   */
  tails: TailView[];
  /**
   * The sums over all runs of wake-ups that are not invalid; null if there is none. The sentence of the headline uses the
   * same numbers.
   */
  totals?: TotalsView | null;
}
/**
 * The measured runs.
 */
export interface ResultsView3 {
  /**
   * Findings from the profile, the most severe first.
   */
  findings: Finding[];
  /**
   * What makes wake-ups late; null if the deadline holds, or if no run was examined for it.
   */
  late_causes?: LateCausesView | null;
  /**
   * What the page begins with if it has many runs; null if they are few, and shown side by side.
   */
  overview?: OverviewView | null;
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
   * Predicted worst cases of each wake-up run, those under load first.
   */
  tails: TailView[];
  /**
   * The sums over all runs of wake-ups that are not invalid; null if there is none. The sentence of the headline uses the
   * same numbers.
   */
  totals?: TotalsView | null;
}
/**
 * What they saw and came to.
 */
export interface TogetherView {
  /**
   * The shift between nodes by scenario; empty without a witness.
   */
  apart: ScenarioColumn[];
  /**
   * Where the published columns are from.
   */
  columns_source: string;
  /**
   * The cost of setting and clearing a line, by scenario; empty without a run of it.
   */
  costs: ScenarioColumn[];
  /**
   * What the nodes say of themselves.
   */
  own_rows: PulseRow[];
  /**
   * Where the published rows are from.
   */
  rows_source: string;
  /**
   * How far apart nodes switched, by witnesses; those that others published last.
   */
  shift_rows: PulseRow[];
  /**
   * What each witness saw.
   */
  shifts: ShiftView[];
  /**
   * What each sweep came to.
   */
  sweeps: SweepView[];
}
/**
 * A column of a figure that shows scenarios side by side.
 */
export interface ScenarioColumn {
  /**
   * What it is of, in a few words.
   */
  about: string;
  /**
   * Whether it is no result.
   */
  invalid: boolean;
  /**
   * The greatest, to either side (ns).
   */
  max_ns?: number | null;
  /**
   * The mean (ns), with its sign.
   */
  mean_ns?: number | null;
  /**
   * The least (ns); null where the figure has none.
   */
  min_ns?: number | null;
  /**
   * The scenario: the name of its run.
   */
  name: string;
  /**
   * Whether somebody else has published it.
   */
  published: boolean;
  /**
   * Values that it is of, in words; null if that is not known.
   */
  samples?: string | null;
  /**
   * The standard deviation (ns).
   */
  sd_ns?: number | null;
}
/**
 * A row of the table of nodes that act together, in words; times in us.
 */
export interface PulseRow {
  /**
   * How long it took.
   */
  duration?: string | null;
  /**
   * From one order to the next (us).
   */
  interval: string;
  /**
   * Whether its run or its witness is invalid: no result.
   */
  invalid: boolean;
  /**
   * How long after its schedule each order was to be carried out (us).
   */
  lead: string;
  /**
   * The greatest (us).
   */
  max?: string | null;
  /**
   * The mean (us).
   */
  mean?: string | null;
  /**
   * The least (us).
   */
  min?: string | null;
  /**
   * What was missed: "3 of 120 000". Schedules that any node missed in the row of a shift, orders in that of one node; `None` if the
   * number is not known.
   */
  missed?: string | null;
  /**
   * What least, greatest and mean are of.
   */
  of: string;
  /**
   * The way of the orders.
   */
  path?: string | null;
  /**
   * Whether somebody else has published it.
   */
  published: boolean;
  /**
   * Whose it is: the name of the run, or of who published it.
   */
  source: string;
}
/**
 * What a witness saw of a run.
 */
export interface ShiftView {
  /**
   * What was ordered and on which line each node was seen, as a sentence without its full stop.
   */
  about: string;
  /**
   * What makes it no result, each as a sentence without its full stop.
   */
  contradictions: string[];
  /**
   * How far a shift may be from none (ns); null without a limit.
   */
  limit_ns?: Exact | null;
  /**
   * What each line shows, the first node's first.
   */
  lines: ShownLine[];
  /**
   * Its name among others.
   */
  name: string;
  /**
   * Each node against the first.
   */
  pairs: ShiftPairView[];
  /**
   * The same as a sentence.
   */
  sentence: string;
  /**
   * What it came to.
   */
  verdict: "holds" | "broken" | "cannot-tell" | "invalid";
}
/**
 * What a line shows.
 */
export interface ShownLine {
  /**
   * Orders that the node says it carried out.
   */
  acted: number;
  /**
   * Edges that belong to the one before them: the line bounced.
   */
  bounces: number;
  /**
   * The channel, and its file where there are several.
   */
  channel: string;
  /**
   * Orders whose time the capture covers completely; `None` as for `numbered`.
   */
  covered?: number | null;
  /**
   * Pulses of which the capture shows one edge alone.
   */
  cut: number;
  /**
   * Pulses that no order made; `None` as for `numbered`.
   */
  extra?: number | null;
  /**
   * What its marks contradict, as a sentence without its full stop; `None` if nothing.
   */
  fault?: string | null;
  /**
   * Groups of edges that left the level as it was.
   */
  glitches: number;
  /**
   * Orders between the first and the last numbered one without a pulse; `None` as for `numbered`.
   */
  missing?: number | null;
  /**
   * Name of the node.
   */
  node: string;
  /**
   * Those that have the number of an order; `None` where they were paired by time.
   */
  numbered?: number | null;
  /**
   * Pulses neither as wide as ordered nor as a mark is.
   */
  odd: number;
  /**
   * Pulses of which both edges are shown.
   */
  pulses: number;
  /**
   * Orders of the run.
   */
  scheduled: number;
  /**
   * How many of those surely have no edge; `None` as for `numbered`.
   */
  without_edge?: number | null;
}
/**
 * The shift of a node against the first one.
 */
export interface ShiftPairView {
  /**
   * Shifts at which it was earlier, by their magnitude; null if there are none.
   */
  below_zero?: HistogramView | null;
  /**
   * What the number of the worst is of: "order", or "pulse" where orders have no numbers.
   */
  counted: string;
  /**
   * The shift; null if nothing can be said.
   */
  figures?: ShiftFiguresView | null;
  /**
   * The node that the other is held against.
   */
  first: string;
  from_zero: HistogramView3;
  /**
   * Orders that are not in the figures, as a sentence without its full stop; null if there are none.
   */
  not_matched?: string | null;
  /**
   * Why that is not known, as a sentence without its full stop.
   */
  not_split?: string | null;
  over_time: ShiftTrackView;
  /**
   * How pulses of one order were told, or why nothing can be said, as a sentence without its full stop.
   */
  paired: string;
  /**
   * What its mean is made of; empty if that is not known. They add up to the mean.
   */
  parts: ShiftPartView[];
  /**
   * The node whose shift it is: positive if it was later.
   */
  second: string;
}
/**
 * The figures of a shift.
 */
export interface ShiftFiguresView {
  /**
   * By how much each shift may be off, to either side (ns); null if that is not known.
   */
  error_ns?: number | null;
  /**
   * How exact each shift is, as a sentence without its full stop.
   */
  exactness: string;
  /**
   * Greatest shift (ns).
   */
  max_ns: number;
  /**
   * Mean shift (ns).
   */
  mean_ns: number;
  /**
   * Median of the shift (ns).
   */
  median_ns?: Exact | null;
  /**
   * Least shift (ns).
   */
  min_ns: number;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  orders: number | string;
  /**
   * Standard deviation (ns).
   */
  sd_ns: number;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  span_ns: number | string;
  /**
   * What 99 of 100 shifts are within, to either side (ns); null of too few orders.
   */
  within_p99_ns?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  worst_at_ns: number | string;
  /**
   * The shift farthest from none (ns).
   */
  worst_ns: number;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  worst_order: number | string;
}
/**
 * A histogram with exact statistics.
 */
export interface HistogramView3 {
  bins: Bins;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  count: number | string;
  /**
   * Exact largest sample (ns).
   */
  max_ns?: Exact | null;
  /**
   * Mean of the samples (ns).
   */
  mean_ns?: number | null;
  /**
   * Exact smallest sample (ns).
   */
  min_ns?: Exact | null;
  /**
   * The quantiles for which there are enough samples.
   */
  quantiles: QuantileView[];
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
  /**
   * Samples that are in no bin, because an import's source gave only their range.
   */
  unplaced?: Exact | null;
  /**
   * The lowest value that these samples can have (ns); the highest is the maximum. Null if there are none.
   */
  unplaced_from_ns?: Exact | null;
}
/**
 * The shift over time.
 */
export interface ShiftTrackView {
  /**
   * Where each begins, from the first order that both lines show (ns).
   */
  from_ns: Exact[];
  /**
   * Length of a stretch (ns).
   */
  length_ns: number;
  /**
   * Greatest shift of each (ns).
   */
  max_ns: number[];
  /**
   * Mean shift of each (ns).
   */
  mean_ns: number[];
  /**
   * Least shift of each (ns).
   */
  min_ns: number[];
  /**
   * Orders in each.
   */
  orders: Exact[];
}
/**
 * A part of the mean shift.
 */
export interface ShiftPartView {
  /**
   * What it most likely is (ns).
   */
  likely_ns: number;
  /**
   * The least that it can be (ns).
   */
  lower_ns: number;
  /**
   * The most that it can be (ns).
   */
  upper_ns: number;
  /**
   * What it is, in a few words.
   */
  words: string;
}
/**
 * What a sweep for the smallest lead came to.
 */
export interface SweepView {
  /**
   * Each cycle.
   */
  cycles: SweepCycleView[];
  /**
   * Its name among others.
   */
  name: string;
  /**
   * What it came to, as a sentence.
   */
  sentence: string;
}
/**
 * What a sweep found at a cycle.
 */
export interface SweepCycleView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  cycle_ns: number | string;
  /**
   * The lead that is confirmed (ns); null if none is.
   */
  lead_ns?: Exact | null;
  /**
   * The lead that orders needed beside the one that they had, run by run.
   */
  leads: LeadRowView[];
  /**
   * The runs that it rests on, whose records are on this page.
   */
  runs: SweepRunView[];
  /**
   * The same as a sentence.
   */
  sentence: string;
  /**
   * What came of it, in a word or two: "confirmed", "loses orders".
   */
  word: string;
}
/**
 * The lead that the orders of a run needed, beside the one that they had.
 */
export interface LeadRowView {
  /**
   * Whether it confirmed the lead.
   */
  confirmed: boolean;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  lead_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  missed: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  orders: number | string;
  /**
   * What half of the schedules needed at most (ns); null where it is not known.
   */
  p50_ns?: Exact | null;
  /**
   * What 99.9 % of them needed at most (ns).
   */
  p99_9_ns?: Exact | null;
  /**
   * What 99 % of them needed at most (ns).
   */
  p99_ns?: Exact | null;
  /**
   * What the run was for and how it ended, in a few words.
   */
  words: string;
  /**
   * What the worst of them needed (ns); null if all were lost.
   */
  worst_ns?: Exact | null;
}
/**
 * A run of a sweep.
 */
export interface SweepRunView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  lead_ns: number | string;
  /**
   * Which run of the sweep it is, from 1 on.
   */
  number: number;
  /**
   * Its place among the runs of the page.
   */
  run: number;
  /**
   * What it was for.
   */
  step: "explore" | "confirm";
}
/**
 * A comparison of two groups of runs.
 */
export interface ComparisonView {
  document: Comparison;
  /**
   * The method of the comparison, in one line.
   */
  how: string;
  plot: RunView1;
  /**
   * The smallest difference that could have been detected, one sentence per quantity.
   */
  reach: string[];
  /**
   * The runs of A, then those of B. Each has one series, named as its group, with the maximum over all CPUs in each
   * interval; its histogram has no bins.
   */
  runs: RunView[];
  /**
   * The samples of both groups with their sign; null unless the comparison is of samples of both signs, where the plots above are
   * of magnitudes.
   */
  signed?: SignedSamplesView | null;
  tables: ComparisonTables;
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
  measurement:
    "wakeup" | "clock" | "noise" | "app" | "sync" | "packet" | "event" | "gpio" | "pulse" | "response" | "answer";
  method: Method;
  /**
   * What a reader has to know beside the numbers.
   */
  notes: string[];
  /**
   * The place of the source of time whose offsets are compared; absent for kinds without sources, and where the runs have none
   * in common.
   */
  place?: Place | null;
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
   * Name of the schema: `punctual/comparison`.
   */
  schema: string;
  /**
   * Where the samples lie, with their sign; absent where none is below zero, or where one below zero is as good as zero. All
   * other numbers are of magnitudes then.
   */
  signed?: SignedComparison | null;
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
   * Exact largest (ns); absent without a sample.
   */
  max_ns?: number | null;
  /**
   * Exact smallest (ns); absent without a sample.
   */
  min_ns?: number | null;
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
   * From the first schedule to the end (ns), without the intervals that something spoiled.
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
   * Exact largest (ns); absent without a sample.
   */
  max_ns?: number | null;
  /**
   * Schedules that late wake-ups swallowed; absent where a run comes from a program that does not count them.
   */
  missed_periods?: number | null;
  /**
   * Host name of the machine.
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
   * Number of samples.
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
   * Exact largest (ns); absent without a sample.
   */
  max_ns?: number | null;
  /**
   * Exact smallest (ns); absent without a sample.
   */
  min_ns?: number | null;
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
   * How alike neighboring pieces are, 0 to 1.
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
   * The step that the samples of both sides are compared in, that of the coarser source (ns); 0 where it is a nanosecond. No
   * difference up to it is claimed.
   */
  step_ns?: number;
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
   * Where the difference would lie were the runs repeated, each row by itself; absent if unknown.
   */
  interval?: DifferenceInterval | null;
  /**
   * `mean`, `p50`, `p99.9`, …; of noise first `stolen in 1 s`: what a CPU lost in each second.
   */
  name: string;
  /**
   * How often chance alone makes such a difference or a greater one; absent if unknown.
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
   * Name of the item.
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
 * Samples of both signs: where they lie, beside how far from zero they are. A question of its own, with the level for itself.
 */
export interface SignedComparison {
  a: SignedRange;
  b: SignedRange1;
  /**
   * Mean and quantiles with their sign: those that both groups have samples for.
   */
  quantities: QuantityComparison[];
  /**
   * What is shown.
   */
  state: "elsewhere" | "not-beyond-margin" | "not-shown" | "cannot-tell";
  /**
   * What is shown in words, with both numbers; a part of a sentence.
   */
  text: string;
}
/**
 * The samples of A.
 */
export interface SignedRange {
  /**
   * The highest (ns).
   */
  highest_ns: number;
  /**
   * The lowest (ns).
   */
  lowest_ns: number;
}
/**
 * The samples of B.
 */
export interface SignedRange1 {
  /**
   * The highest (ns).
   */
  highest_ns: number;
  /**
   * The lowest (ns).
   */
  lowest_ns: number;
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
    | "elsewhere"
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
   * The maximum of each of A's that has a sample (ns).
   */
  a_maxima_ns: number[];
  /**
   * The median of A's maxima (ns); absent where none has a sample.
   */
  a_median_ns?: number | null;
  /**
   * The maximum of each of B's that has a sample (ns).
   */
  b_maxima_ns: number[];
  /**
   * The median of B's maxima (ns); absent where none has a sample.
   */
  b_median_ns?: number | null;
  /**
   * Whether the largest value of all contradicts the ranks, so that nothing is concluded from them.
   */
  is_contradictory?: boolean;
  /**
   * B's median minus A's (ns); absent where one of them is.
   */
  median_difference_ns?: number | null;
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
   * Of each of A's units the periods that were late by more than that: wake-ups, and the schedules they skipped that were so late
   * themselves; of noise the gaps.
   */
  a_beyond: number[];
  /**
   * Of each of A's units all periods; of noise the time observed (ns).
   */
  a_exposure: number[];
  /**
   * Of each of B's units the periods that were late by more than that: wake-ups, and the schedules they skipped that were so late
   * themselves; of noise the gaps.
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
   * How many of all A's, and of all B's, periods beyond the deadline are schedules that a late wake-up skipped.
   *
   * @minItems 2
   * @maxItems 2
   */
  missed_beyond?: [number, number];
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
 * One run of the page.
 */
export interface RunView1 {
  /**
   * Edges that were answered; null except in runs of `answer`.
   */
  answers?: AnswerView | null;
  /**
   * The deadline (ns).
   */
  deadline_ns?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  duration_ns: number | string;
  /**
   * What made the worst samples late; null if no explanation was requested.
   */
  explanation?: ExplanationView | null;
  /**
   * Unique identifier of the run.
   */
  id: string;
  /**
   * Time from one schedule to the next (ns).
   */
  interval_ns?: Exact | null;
  /**
   * Why the run is no result, as the end of a sentence; null if it is one.
   */
  invalid_because?: string | null;
  /**
   * A label for people: `idle`, `under paper load`.
   */
  label: string;
  /**
   * What the source of an imported run does not contain, in words; empty for this program's own runs.
   */
  lacks: string[];
  /**
   * What the load did; null unless the load consists of parts.
   */
  load?: LoadView | null;
  /**
   * Whether a load ran during the run.
   */
  loaded: boolean;
  /**
   * What was requested, what the kernel granted, and the conditions of the run: the manifest of the record.
   */
  manifest: {
    [k: string]: unknown;
  };
  /**
   * The kind of measurement: `wakeup`, `clock`, `noise`, `app`, `sync`.
   */
  measurement: string;
  /**
   * Host name of the machine.
   */
  node: string;
  /**
   * Disturbances that could not be observed on this machine, in words; they do not change the state.
   */
  not_observable: string[];
  /**
   * What was seen of packets between nodes; null except in runs of `packet`.
   */
  packets?: PacketView | null;
  /**
   * The followed program; null except in runs of `app`.
   */
  program?: ProgramView | null;
  /**
   * Nodes that act together; null except in runs of `pulse`.
   */
  pulses?: PulseView | null;
  /**
   * The reasons for that state, the worst first.
   */
  reasons: ReasonView[];
  /**
   * Rhythms among the late samples; null if no scan was requested.
   */
  rhythm?: RhythmScanView | null;
  /**
   * The longest bursts of missed or late periods, those that missed the most first.
   */
  rows: RowView[];
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  samples: number | string;
  /**
   * One series for each latency, place and variant.
   */
  series: SeriesView[];
  /**
   * How many spoiled intervals the record did not keep one by one, as a sentence; null if it kept all.
   */
  spoiled_not_kept?: string | null;
  /**
   * Nanoseconds since 1970-01-01 UTC, as decimal text
   */
  started_realtime_ns: string;
  /**
   * How far the numbers can be trusted.
   */
  state: "valid" | "degraded" | "invalid";
  /**
   * What was seen of time services and clocks; null except in runs of `sync`.
   */
  sync?: SyncView | null;
  /**
   * IANA name of the node's time zone.
   */
  time_zone?: string | null;
  /**
   * The verdict on the deadline; null if none was stated.
   */
  verdict?: VerdictView | null;
  /**
   * The worst samples, worst first.
   */
  worst: WorstView[];
}
/**
 * The samples of both groups with their sign.
 */
export interface SignedSamplesView {
  a: SidesView;
  b: SidesView1;
  /**
   * The runs of A, then those of B.
   */
  runs: SignedRunView[];
}
/**
 * The samples of A.
 */
export interface SidesView {
  /**
   * Samples below zero, by their magnitude; null if there are none.
   */
  below_zero?: HistogramView | null;
  from_zero: HistogramView4;
}
/**
 * A histogram with exact statistics.
 */
export interface HistogramView4 {
  bins: Bins;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  count: number | string;
  /**
   * Exact largest sample (ns).
   */
  max_ns?: Exact | null;
  /**
   * Mean of the samples (ns).
   */
  mean_ns?: number | null;
  /**
   * Exact smallest sample (ns).
   */
  min_ns?: Exact | null;
  /**
   * The quantiles for which there are enough samples.
   */
  quantiles: QuantileView[];
  /**
   * Population standard deviation (ns).
   */
  sd_ns?: number | null;
  /**
   * Samples that are in no bin, because an import's source gave only their range.
   */
  unplaced?: Exact | null;
  /**
   * The lowest value that these samples can have (ns); the highest is the maximum. Null if there are none.
   */
  unplaced_from_ns?: Exact | null;
}
/**
 * The samples of B.
 */
export interface SidesView1 {
  /**
   * Samples below zero, by their magnitude; null if there are none.
   */
  below_zero?: HistogramView | null;
  from_zero: HistogramView4;
}
/**
 * The lowest and the highest sample of each interval of a run.
 */
export interface SignedRunView {
  /**
   * The highest sample of each interval (ns); null if it has none.
   */
  highest_ns: (Exact | null)[];
  /**
   * `A 1`, `B 2`.
   */
  label: string;
  /**
   * Length of each interval (ns).
   */
  length_ns: Exact[];
  /**
   * The lowest sample of each interval (ns); null if it has none.
   */
  lowest_ns: (Exact | null)[];
  /**
   * Whether it is one of A's.
   */
  of_a: boolean;
  /**
   * Start of each interval, counted from the run's start (ns).
   */
  start_offset_ns: Exact[];
}
/**
 * Its numbers in words.
 */
export interface ComparisonTables {
  /**
   * A, then B.
   */
  groups: GroupRow[];
  side_by_side: ComparedRows;
  /**
   * Where the samples lie; null unless they have both signs.
   */
  with_sign?: ComparedRows1 | null;
}
/**
 * A group of runs in words.
 */
export interface GroupRow {
  /**
   * `A` or `B`.
   */
  letter: string;
  /**
   * Periods that were skipped; null if they were not counted.
   */
  missed?: string | null;
  /**
   * What people call it: a label, or its files.
   */
  name: string;
  /**
   * Number of runs.
   */
  runs: string;
  /**
   * Number of samples.
   */
  samples: string;
  /**
   * How long its runs took together; null if that is unknown.
   */
  time?: string | null;
  /**
   * How far it can be trusted, in a word.
   */
  validity: string;
  /**
   * The largest sample; null without one.
   */
  worst?: string | null;
}
/**
 * Quantities of both groups, each as a row.
 */
export interface ComparedRows {
  /**
   * The heading of the intervals: "95 % interval".
   */
  interval: string;
  /**
   * Whether the rows have shares of A and verdicts: else a table needs no columns for them.
   */
  is_judged: boolean;
  /**
   * What the quantities are of: the heading of their names.
   */
  of: string;
  /**
   * One for each quantity, in the order in which they are shown.
   */
  rows: ComparedRow[];
}
/**
 * One quantity of both groups in words; what is unknown, or has no meaning for it, is null.
 */
export interface ComparedRow {
  /**
   * Its value in A.
   */
  a?: string | null;
  /**
   * Its value in B.
   */
  b?: string | null;
  /**
   * B less A, with its sign.
   */
  difference?: string | null;
  /**
   * Where the difference would lie if the runs were repeated.
   */
  interval?: string | null;
  /**
   * The quantity: `mean`, `p99`, `median of maxima`.
   */
  name: string;
  /**
   * The probability that chance alone makes such a difference in any row; null if too few runs could ever show one.
   */
  p?: string | null;
  /**
   * The same in per cent of A.
   */
  percent?: string | null;
  /**
   * What is shown of B: `worse` or `better`; null if nothing is.
   */
  shown?: string | null;
}
/**
 * Quantities of both groups, each as a row.
 */
export interface ComparedRows1 {
  /**
   * The heading of the intervals: "95 % interval".
   */
  interval: string;
  /**
   * Whether the rows have shares of A and verdicts: else a table needs no columns for them.
   */
  is_judged: boolean;
  /**
   * What the quantities are of: the heading of their names.
   */
  of: string;
  /**
   * One for each quantity, in the order in which they are shown.
   */
  rows: ComparedRow[];
}
/**
 * The campaign and its results.
 */
export interface CampaignView {
  /**
   * When the campaign began.
   */
  began?: Instant | null;
  /**
   * For each figure of the document: all conditions in the order of its bars, each as one series with all samples of
   * its usable runs. Null if there are no records for the figure.
   */
  distributions: (RunView | null)[];
  document: CampaignResult;
  /**
   * Why runs are degraded or invalid: each reason once, the worst first.
   */
  reasons: CampaignReasonView[];
  /**
   * For each run of the document: why it is degraded, invalid or unusable.
   */
  run_reasons: string[][];
  tables: CampaignTables;
  /**
   * IANA name of the node's time zone.
   */
  time_zone?: string | null;
}
/**
 * The document that `punctual campaign report --json` prints.
 */
export interface CampaignResult {
  /**
   * The question that it answers, in one line.
   */
  about: string;
  /**
   * Each condition compared with the baseline.
   */
  answers: Answer[];
  /**
   * Wall-clock time of the first start (ns since 1970-01-01 UTC).
   */
  began_ns?: number | null;
  /**
   * Number of comparisons that share this probability.
   */
  comparisons: number;
  /**
   * The conditions, the baseline first.
   */
  conditions: ConditionResult[];
  /**
   * The winners together compared with the baseline, from new runs; empty if there is no confirmation (yet).
   */
  confirmation: Answer[];
  /**
   * The probability of showing any difference if there is none, over all comparisons together.
   */
  false_alarms: number;
  /**
   * The measured values, a figure for each measurement and series.
   */
  figures: Figure[];
  /**
   * The answer in one sentence.
   */
  headline: string;
  /**
   * Least number of repetitions with which a difference of worst cases can be shown. With fewer, none can be shown.
   */
  least_repetitions: number;
  /**
   * Least number of repetitions with which a mean or quantile that is the only one to differ is always shown; 0 if
   * unknown.
   */
  least_repetitions_body?: number;
  /**
   * The share of it that each comparison has.
   */
  level_each: number;
  /**
   * The lines below the headline, in order.
   */
  lines: string[];
  /**
   * The campaign's name.
   */
  name: string;
  /**
   * Host name of the machine; empty before the first run.
   */
  node: string;
  /**
   * Notes that a reader needs to judge the numbers.
   */
  notes: string[];
  /**
   * How often each condition is measured.
   */
  repetitions: number;
  /**
   * Number of reboots for this campaign.
   */
  restarts: number;
  /**
   * The runs that count, in the order in which they were made.
   */
  runs: RunLine[];
  /**
   * Name of the schema: always `punctual/campaign-result`.
   */
  schema: string;
  /**
   * Seed of every random order.
   */
  seed: number;
  /**
   * Whether the campaign is complete.
   */
  state: "running" | "complete" | "stopped-early";
  /**
   * Version of the schema.
   */
  version: number;
}
/**
 * The answer for one condition and one measurement, compared with the baseline.
 */
export interface Answer {
  /**
   * The comparison behind the answer: A is the baseline.
   */
  comparison?: Comparison1 | null;
  /**
   * The name of the condition.
   */
  condition: string;
  /**
   * Whether the settings changed for it differ from those changed for the baseline; absent if that is unknown, or if
   * its levels ask for no settings of their own.
   */
  is_set_apart?: boolean | null;
  /**
   * The name of the measurement.
   */
  measurement: string;
  /**
   * Index of the condition.
   */
  place: number;
  /**
   * The answer as a sentence with its numbers.
   */
  sentence: string;
  /**
   * The answer as a state.
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
  measurement:
    "wakeup" | "clock" | "noise" | "app" | "sync" | "packet" | "event" | "gpio" | "pulse" | "response" | "answer";
  method: Method;
  /**
   * What a reader has to know beside the numbers.
   */
  notes: string[];
  /**
   * The place of the source of time whose offsets are compared; absent for kinds without sources, and where the runs have none
   * in common.
   */
  place?: Place | null;
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
   * Name of the schema: `punctual/comparison`.
   */
  schema: string;
  /**
   * Where the samples lie, with their sign; absent where none is below zero, or where one below zero is as good as zero. All
   * other numbers are of magnitudes then.
   */
  signed?: SignedComparison | null;
  verdict: ComparisonVerdict;
  /**
   * Version of the schema.
   */
  version: number;
  worst: WorstComparison;
}
/**
 * A condition and its runs.
 */
export interface ConditionResult {
  /**
   * What was changed for it: the setting, its old value and its new one.
   */
  changed: string[];
  /**
   * Number of degraded runs among them.
   */
  degraded: number;
  /**
   * Whether it is the baseline, with which the others are compared.
   */
  is_baseline: boolean;
  /**
   * Whether it combines the winners.
   */
  is_winners_together: boolean;
  /**
   * Number of runs that were made.
   */
  measured: number;
  /**
   * The levels that differ from the baseline, or the name of the baseline.
   */
  name: string;
  /**
   * Number of planned runs.
   */
  planned: number;
  /**
   * What could not be changed, and why.
   */
  refused: string[];
  /**
   * Number of runs among them that are not used.
   */
  unusable: number;
}
/**
 * One series of one measurement, with all conditions side by side.
 */
export interface Figure {
  /**
   * One bar for each condition that has a run, in the order of the conditions.
   */
  bars: Bar[];
  /**
   * The name of the measurement.
   */
  measurement: string;
  /**
   * The latency by its two points, such as `scheduled_to_woke`.
   */
  series: string;
  /**
   * The title of the figure.
   */
  title: string;
  /**
   * Distinguishes this series from others of the same name; empty if there are no others.
   */
  variant: string;
}
/**
 * All samples of one condition.
 */
export interface Bar {
  /**
   * The name of the condition.
   */
  condition: string;
  /**
   * Exact maximum (ns).
   */
  max_ns: number;
  /**
   * The maximum of each run, in the order of the runs (ns).
   */
  maxima_ns: number[];
  /**
   * Mean of all samples (ns).
   */
  mean_ns: number;
  /**
   * Exact minimum (ns).
   */
  min_ns: number;
  /**
   * Number of runs.
   */
  runs: number;
  /**
   * Number of samples.
   */
  samples: number;
  /**
   * Population standard deviation (ns); absent if the values of some samples are unknown.
   */
  sd_ns?: number | null;
}
/**
 * One run of the campaign.
 */
export interface RunLine {
  /**
   * Number of attempts that it took.
   */
  attempts: number;
  /**
   * The name of the condition.
   */
  condition: string;
  /**
   * Path of the record, relative to the campaign's folder.
   */
  file: string;
  /**
   * Whether it belongs to the confirmation.
   */
  is_confirmation: boolean;
  /**
   * The name of the measurement.
   */
  measurement: string;
  /**
   * Number of the visit that it belongs to, from 1.
   */
  number: number;
  /**
   * Why it is not used although its record may be valid: settings changed while it was measured.
   */
  unusable?: string | null;
  /**
   * Validity of the run.
   */
  validity: "valid" | "degraded" | "invalid";
}
/**
 * A reason why some runs of a campaign are degraded or invalid.
 */
export interface CampaignReasonView {
  reason: ReasonView1;
  /**
   * Number of runs with this reason.
   */
  runs: number;
}
/**
 * The reason, with the first few different details.
 */
export interface ReasonView1 {
  /**
   * Name of the reason in the table of reasons: `rt-throttled`.
   */
  code: string;
  /**
   * What was seen in this run, with numbers and places.
   */
  detail: string;
  /**
   * What happened to the run, as a sentence.
   */
  meaning: string;
  /**
   * What to do about it.
   */
  remedy: string;
  /**
   * The state that the reason causes.
   */
  state: "valid" | "degraded" | "invalid";
}
/**
 * Its answers and figures in words.
 */
export interface CampaignTables {
  /**
   * The answers, each compared with the first condition.
   */
  answers: AnswerRows[];
  /**
   * The answers of the winners, measured again.
   */
  confirmation: AnswerRows[];
  /**
   * The bars of each figure, as rows.
   */
  figures: BarRow[][];
}
/**
 * An answer in words.
 */
export interface AnswerRows {
  /**
   * The comparison behind it, A being the first condition; null if nothing was compared.
   */
  compared?: ComparedRows1 | null;
  /**
   * The answer in a word or two.
   */
  word: string;
}
/**
 * The samples of a condition in words.
 */
export interface BarRow {
  /**
   * The name of the condition.
   */
  condition: string;
  /**
   * The largest sample.
   */
  max: string;
  /**
   * The largest sample of each run, in the order of the runs.
   */
  maxima: string[];
  /**
   * The mean of all samples.
   */
  mean: string;
  /**
   * The smallest sample.
   */
  min: string;
  /**
   * Number of runs.
   */
  runs: string;
  /**
   * Number of samples.
   */
  samples: string;
  /**
   * Population standard deviation; null if the values of some samples are unknown.
   */
  sd?: string | null;
}
/**
 * Injected delays compared with readings.
 */
export interface CalibrationView {
  /**
   * All other conditions of the calibration.
   */
  checks: CalibrationCheckView[];
  /**
   * The machine that it was calibrated on.
   */
  machine: string;
  /**
   * Whether the calibration passed.
   */
  passes: boolean;
  /**
   * One row for each injected delay.
   */
  rows: CalibrationRowView[];
  /**
   * The program that was calibrated, with its version.
   */
  tool: string;
}
/**
 * A condition of the calibration other than a single reading.
 */
export interface CalibrationCheckView {
  /**
   * Name of the boot; empty if the check covers all boots.
   */
  boot: string;
  /**
   * What was found, in words.
   */
  found: string;
  /**
   * Whether the condition holds.
   */
  holds: boolean;
  /**
   * The condition, in words.
   */
  name: string;
}
/**
 * One injected delay and its reading.
 */
export interface CalibrationRowView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  asked_length_ns: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  baseline_ns: number | string;
  /**
   * Name of the guest's boot in which the delay was injected.
   */
  boot: string;
  /**
   * Load in that boot: `idle`, `load`.
   */
  condition: string;
  /**
   * Reading minus truth and baseline (ns).
   */
  difference_ns?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  exception_ns: number | string;
  /**
   * Kind of the delay, by what occupied the CPU: `irqs-off`, `hog`.
   */
  kind: string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  least_ns: number | string;
  /**
   * The measurement that read the delay: `wakeup`, `noise`.
   */
  measurement: string;
  /**
   * Missed periods; null if the measurement does not count them.
   */
  missed?: CalibrationMissedView | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  most_ns: number | string;
  /**
   * The outcome for this delay.
   */
  outcome: "within" | "exception" | "outside" | "not-found";
  /**
   * The reading (ns); null if the delay was not found.
   */
  reading_ns?: Exact | null;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  truth_ns: number | string;
}
/**
 * Missed periods of one reading.
 */
export interface CalibrationMissedView {
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  least: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  most: number | string;
  /**
   * An integer: a JSON number if that is exact, otherwise its decimal digits as text
   */
  reading: number | string;
}
