// The stream of changes: read while it shows signs of life, and reopened when it does not. A connection can be dead without the browser
// noticing: the machine slept, or the network path is gone.

import type { Connection } from './source'
import type { Change } from './types'

const dead = 50_000 // ms without a sign of life, which the server sends every 20 s
const overdue = 21_000 // ms: the last sign of life is late, unless the network is slow
const unanswered = 2000 // ms until the user learns that planloop does not answer
const longestWait = 5000

export type StreamMessage = { change?: Change; state?: Connection }

interface Ways {
  ask(signal: AbortSignal): Promise<Response>
  enter(signal: AbortSignal): Promise<Connection> // after a refusal: 'live' if another try makes sense
  tell(said: StreamMessage): void
}

// stream reports changes and the state of the connection until the signal. look checks at once whether the stream is alive, for a user who
// comes back; there is at most one try at a time, and one per second.
export function stream({ ask, enter, tell }: Ways, signal: AbortSignal): { look(): void; ended: Promise<void> } {
  let began = 0, heard = 0, pausing = false, attempt = new AbortController() // a try with the pause after it
  const age = (then: number) => Math.abs(Date.now() - then) // by the wall clock: other clocks stop while the machine sleeps
  signal.addEventListener('abort', () => { attempt.abort() }, { once: true })

  async function run(): Promise<void> {
    for (let wait = 250; !signal.aborted; wait = Math.min(wait * 2, longestWait)) {
      const { signal: cut } = attempt = new AbortController()
      began = heard = Date.now()
      const late = setTimeout(() => { tell({ state: 'lost' }) }, unanswered)
      const watch = setInterval(() => { if (age(heard) > dead) attempt.abort() }, 5000)
      try {
        const answer = await ask(cut)
        clearTimeout(late)
        if (answer.status === 401) {
          tell({ state: 'refused' }) // calls made in the meantime are repeated when it is live
          const state = await enter(cut)
          if (state === 'live') continue
          tell({ state })
          wait = longestWait
        } else if (answer.status === 403) {
          tell({ state: 'refused' })
          wait = longestWait
        } else if (answer.ok && answer.body) {
          tell({ state: 'live' })
          wait = 250
          await readEvents(answer.body, () => { heard = Date.now() }, change => { tell({ change }) })
          tell({ state: 'lost' })
        } else tell({ state: 'lost' })
      } catch {
        if (!cut.aborted) tell({ state: 'lost' }) // otherwise the next try follows at once
      } finally {
        clearTimeout(late)
        clearInterval(watch)
      }
      pausing = true
      await pause(wait, cut)
      pausing = false
    }
  }
  return {
    ended: run(),
    look: () => { if (pausing ? age(began) > 1000 : age(heard) > overdue) attempt.abort() },
  }
}

async function readEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>, alive: () => void, heard: (c: Change) => void): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return
    alive()
    const lines = (rest + value).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data:')) heard(JSON.parse(line.slice(5)) as Change)
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(done => {
    if (signal.aborted) return done()
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', () => { clearTimeout(timer); done() }, { once: true })
  })
}
