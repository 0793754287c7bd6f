// Looks again and again, never twice at once, and less often while nobody watches.

const ACTIVE_MS = 2_000;
const IDLE_MS = 10_000;
const HIDDEN_MS = 60_000;
const IDLE_AFTER_MS = 120_000;
const MAX_RETRY_MS = 30_000;

export class Poller {
  #look;
  #timer = null;
  #isLooking = false;
  #isWanted = false;
  #isStopped = true;
  #lastTouchAt = Date.now();
  failures = 0;

  // `look` answers whether it reached the server.
  constructor(look) {
    this.#look = look;
    for (const event of ["pointerdown", "keydown", "wheel"]) {
      addEventListener(event, () => this.#touched(), { passive: true, capture: true });
    }
    document.addEventListener("visibilitychange", () => !document.hidden && this.now());
    addEventListener("online", () => this.now());
  }

  start() {
    this.#isStopped = false;
    return this.now();
  }

  stop() {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  // Looks at once; where a look is under way, right after it, since that one may have begun too early.
  async now() {
    if (this.#isStopped) return;
    this.#isWanted = true;
    if (this.#isLooking) return;
    clearTimeout(this.#timer);
    this.#isLooking = true;
    try {
      while (this.#isWanted && !this.#isStopped) {
        this.#isWanted = false;
        this.failures = (await this.#look()) ? 0 : this.failures + 1;
      }
    } finally {
      this.#isLooking = false;
      if (!this.#isStopped) this.#timer = setTimeout(() => this.now(), this.pause());
    }
  }

  pause() {
    if (document.hidden) return HIDDEN_MS;
    if (this.failures > 0) return Math.min(ACTIVE_MS * 2 ** (this.failures - 1), MAX_RETRY_MS);
    return Date.now() - this.#lastTouchAt > IDLE_AFTER_MS ? IDLE_MS : ACTIVE_MS;
  }

  #touched() {
    const wasIdle = Date.now() - this.#lastTouchAt > IDLE_AFTER_MS;
    this.#lastTouchAt = Date.now();
    if (wasIdle) this.now();
  }
}
