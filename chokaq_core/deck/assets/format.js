// Times, durations and numbers as people read them.

import { h } from "./dom.js";

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const DAY_AND_YEAR = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const NUMBER = new Intl.NumberFormat("en-GB");

// Local time; the same in UTC on hover.
export function time(moment, nothing = "–") {
  if (!moment) return h("span", { class: "muted" }, nothing);
  return h("time", { datetime: moment, title: utc(moment) }, local(moment));
}

export function local(moment) {
  const at = new Date(moment);
  const today = new Date();
  if (at.toDateString() === today.toDateString()) return CLOCK.format(at);
  const day = at.getFullYear() === today.getFullYear() ? DAY : DAY_AND_YEAR;
  return `${day.format(at)} ${CLOCK.format(at)}`;
}

export function utc(moment) {
  return `${moment.replace("T", " ").replace("Z", "")} UTC`;
}

export function number(value) {
  return NUMBER.format(value).replaceAll(",", "\u202f");
}

// Seconds as `0.4 s`, `12 s`, `3 min 20 s`, `5 h 2 min`, `3 d 4 h`.
export function seconds(value) {
  if (value < 10) return `${Number(value.toFixed(1))} s`;
  const whole = Math.round(value);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

export function milliseconds(value) {
  if (value === null || value === undefined) return "–";
  return value < 1000 ? `${Number(value.toPrecision(3))} ms` : seconds(value / 1000);
}

export function percent(share) {
  if (share === null) return "–";
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${Number((share * 100).toFixed(1))} %`;
}

export function jobs(count) {
  return count === 1 ? "1 job" : `${number(count)} jobs`;
}

// The class of a dotted name, such as `jobs.errors.NoAddress`; any other text as it is.
export function className(name) {
  return /^[\p{L}\p{N}_.]+$/u.test(name) ? name.slice(name.lastIndexOf(".") + 1) : name;
}

// `MaxRetriesExceeded` as `max retries exceeded`.
export function words(name) {
  return name.replace(/([a-z])([A-Z])/g, "$1 $2").replaceAll("_", " ").toLowerCase();
}
