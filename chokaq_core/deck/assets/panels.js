// Every panel by its place in the address: { title, load(route, state), render(data, state) },
// and for those whose request can be wrong renderRefused(state).

import * as circuits from "./circuits.js";
import * as errors from "./errors.js";
import * as events from "./events.js";
import * as jobList from "./job_list.js";
import * as log from "./operator_log.js";
import * as overview from "./overview.js";
import * as queues from "./queues.js";
import * as workers from "./workers.js";

const jobs = (title) => ({ title, load: jobList.load, render: jobList.render, renderRefused: jobList.renderRefused });

export const PANELS = {
  overview: { title: "Overview", ...overview },
  active: jobs("Active"),
  archive: jobs("Archive"),
  dlq: jobs("DLQ"),
  errors: { title: "Top errors", ...errors },
  queues: { title: "Queues", ...queues },
  circuits: { title: "Circuits", ...circuits },
  workers: { title: "Workers", ...workers },
  log: { title: "Operator log", ...log },
  console: { title: "Console", ...events },
};
