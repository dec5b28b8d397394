// The one formatter of the viewer; equal to crates/units/src/format.rs, held by test/format-vectors.json.

import type { Exact } from "./generated/view.d.ts";

const THIN_SPACE = "\u202f";

/** Any whole number exactly; a float is rounded first. */
export function whole(value: Exact | bigint): bigint {
  if (typeof value === "bigint") return value;
  return BigInt(typeof value === "number" ? Math.round(value) : value);
}

function group(digits: string): string {
  return digits.replace(/\B(?=(\d{3})+$)/g, THIN_SPACE);
}

/** Digits in groups of three: 1305 becomes "1 305". */
export function count(value: Exact | bigint): string {
  const n = whole(value);
  return n < 0n ? `-${group((-n).toString())}` : group(n.toString());
}

/** From here on a difference of two times is no latency but another date (ns). */
const ANOTHER_DATE_NS = 1_000_000_000_000n;

/** "853 ns", "41.8 us", "1 305 us"; clocks that differ by more than 1,000 s do so by days and hours. */
export function latency(value: Exact | bigint): string {
  const ns = whole(value);
  const sign = ns < 0n ? "-" : "";
  const magnitude = ns < 0n ? -ns : ns;
  if (magnitude < 1000n) return `${sign}${magnitude} ns`;
  return magnitude < ANOTHER_DATE_NS ? `${sign}${microseconds(magnitude)} us` : span(ns);
}

/** A difference of two times with its sign, also where it is none: "+1.8 us", "-740 ns", "+0 ns". */
export function difference(value: Exact | bigint): string {
  const ns = whole(value);
  return `${ns < 0n ? "" : "+"}${latency(ns)}`;
}

/** The number alone, in microseconds, for columns whose head says "us". */
export function microseconds(value: Exact | bigint): string {
  const ns = whole(value);
  if (ns < 0n) return `-${microseconds(-ns)}`;
  // Rounded to tenths first: 99.96 us must read "100", not "100.0".
  const tenths = ns / 100n + (ns % 100n >= 50n ? 1n : 0n);
  if (tenths < 1000n) return `${tenths / 10n}.${tenths % 10n}`;
  return count(ns / 1000n + (ns % 1000n >= 500n ? 1n : 0n));
}

/** "41.8 us", "20 ms", "1.2 s", "2 min 5 s", "5 h 33 min", "3 d 4 h". */
export function span(value: Exact | bigint): string {
  const ns = whole(value);
  const sign = ns < 0n ? "-" : "";
  const magnitude = ns < 0n ? -ns : ns;
  if (magnitude < 1_000_000n) return latency(ns);
  if (magnitude < 1_000_000_000n) return sign + oneDecimal(magnitude, 1_000_000n, "ms");
  if (magnitude < 100_000_000_000n) return sign + oneDecimal(magnitude, 1_000_000_000n, "s");
  const seconds = magnitude / 1_000_000_000n;
  if (seconds < 3600n) return sign + two(seconds / 60n, "min", seconds % 60n, "s");
  if (seconds < 86400n) return sign + two(seconds / 3600n, "h", (seconds % 3600n) / 60n, "min");
  return sign + two(seconds / 86400n, "d", (seconds % 86400n) / 3600n, "h");
}

function oneDecimal(value: bigint, unit: bigint, name: string): string {
  const tenth = unit / 10n;
  const tenths = value / tenth + (value % tenth >= tenth / 2n ? 1n : 0n);
  return tenths % 10n === 0n ? `${tenths / 10n} ${name}` : `${tenths / 10n}.${tenths % 10n} ${name}`;
}

function two(major: bigint, majorName: string, minor: bigint, minorName: string): string {
  return minor === 0n ? `${major} ${majorName}` : `${major} ${majorName} ${minor} ${minorName}`;
}

/** "742 B", "2.7 MiB". */
export function bytes(value: Exact | bigint): string {
  const size = whole(value);
  if (size < 1024n) return `${size} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let tenths = (size * 10n) / 1024n;
  let unit = 0;
  while (tenths >= 10240n && unit + 1 < units.length) {
    tenths /= 1024n;
    unit += 1;
  }
  return `${tenths / 10n}.${tenths % 10n} ${units[unit]}`;
}

/** A share as its quantile's name: 0.999 is "p99.9". */
export function quantile(share: number): string {
  return `p${Math.round(share * 1e6) / 1e4}`;
}

/** "2026-03-02 08:10:30.125" in the zone (an IANA name; UTC where it is absent or unknown); "no date" where its source has none. */
export function wallTime(realtimeNs: Exact, zone: string | null | undefined, digits: 0 | 3 = 3): string {
  if (whole(realtimeNs) === 0n) return "no date";
  const at = new Date(Number(whole(realtimeNs) / 1_000_000n));
  const parts = Object.fromEntries(formatOf(zone).formatToParts(at).map((part) => [part.type, part.value]));
  const fraction = digits === 0 ? "" : `.${String(((at.getTime() % 1000) + 1000) % 1000).padStart(3, "0")}`;
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second}${fraction}`;
}

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string | null | undefined): Intl.DateTimeFormat {
  const name = zone ?? "UTC";
  let format = formats.get(name);
  if (!format) {
    const options: Intl.DateTimeFormatOptions = {
      year: "numeric", month: "2-digit", day: "2-digit",
      hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
    };
    try {
      format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: name });
    } catch {
      format = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
    }
    formats.set(name, format);
  }
  return format;
}
