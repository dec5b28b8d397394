// The kinds of measurement: generated from the table in crates/record/src/kind/table.rs; do not edit by hand.

/** The properties of a kind that the viewer needs. */
export interface Kind {
  /** What it measures. */
  about: string;
  /** What several samples are called. */
  samples: string;
  /** How its samples are drawn. */
  figure: "wakeups" | "gaps" | "costs" | "offsets" | "delays" | "orders";
  /** Whether rates are per observed time instead of per number of schedules. */
  countsByTime: boolean;
  /** Whether its threads are those of a user's own program. */
  isOfProgram: boolean;
  /** The latencies whose worst cases are predicted. */
  predicted: readonly string[];
}

export const KINDS: Readonly<Record<string, Kind>> = {
  wakeup: {
    about: "Timer wake-up latency, as cyclictest measures it", samples: "wake-ups", figure: "wakeups", countsByTime: false,
    isOfProgram: false, predicted: ["scheduled_to_woke"],
  },
  clock: {
    about: "Cost of reading clocks, each alone and in pairs", samples: "readings", figure: "costs", countsByTime: false,
    isOfProgram: false, predicted: [],
  },
  noise: {
    about: "Time stolen from a thread that never sleeps", samples: "gaps", figure: "gaps", countsByTime: true,
    isOfProgram: false, predicted: ["left_to_resumed"],
  },
  app: {
    about: "Latencies of the threads of a user's own program", samples: "latencies of the program", figure: "wakeups", countsByTime: false,
    isOfProgram: true, predicted: ["scheduled_to_returned", "runnable_to_running"],
  },
  sync: {
    about: "How far clocks are apart, as time services and this program compare them", samples: "offsets", figure: "offsets", countsByTime: false,
    isOfProgram: false, predicted: [],
  },
  packet: {
    about: "Delay of packets from a program on one node to a program on another, with what the clocks allow as its error", samples: "packets", figure: "delays", countsByTime: false,
    isOfProgram: false, predicted: ["sent_to_received"],
  },
  event: {
    about: "Hand-over from one thread to another: by an eventfd, a pipe, a futex, a signal, a message queue or a condition variable", samples: "hand-overs", figure: "wakeups", countsByTime: false,
    isOfProgram: false, predicted: ["handed_to_woke"],
  },
  gpio: {
    about: "Cost of writing a GPIO line", samples: "writes", figure: "costs", countsByTime: false,
    isOfProgram: false, predicted: [],
  },
  pulse: {
    about: "How late nodes act that are ordered by packets to switch an output at one instant", samples: "orders", figure: "orders", countsByTime: false,
    isOfProgram: false, predicted: ["ordered_to_acted", "scheduled_to_armed"],
  },
  response: {
    about: "Response to an edge of a GPIO line, from the write of an output to the thread that waits for the input joined with it", samples: "responses", figure: "wakeups", countsByTime: false,
    isOfProgram: false, predicted: ["acted_to_woke"],
  },
  answer: {
    about: "Answer to an edge that somebody else makes, by an output: our own stamps of it, and those of a witness that makes the edges", samples: "answers", figure: "wakeups", countsByTime: false,
    isOfProgram: false, predicted: ["event_to_answered"],
  },
};
