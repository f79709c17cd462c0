// Chooses who computes the layout: a worker on our own page, the main thread in the MCP App, where the policy allows no worker.

import type { Knot, Layout, Room } from './layout'

export type Arrange = (steps: Knot[], room: Room) => Promise<Layout>

let chosen: Arrange = () => Promise.reject(new Error('no layout is set'))

export function arrangeBy(how: Arrange): void { chosen = how }

// many steps are drawn as numbers, whose places depend on little but the shape of the room.
export const many = 60

let last: { of: string; made: Promise<Layout> } | undefined // a graph that is shown again needs no new layout

export function arrange(steps: Knot[], room: Room): Promise<Layout> {
  const of = JSON.stringify([steps, steps.length > many ? Math.round(2 * room.width / room.height) : room])
  if (last?.of !== of) {
    last = { of, made: chosen(steps, room) }
    last.made.catch(() => { last = undefined })
  }
  return last.made
}

interface Policies { createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): string } }

// byWorker starts a worker from our own script when the first graph is shown. The policy for trusted types allows only this address.
export function byWorker(script: string): Arrange {
  let worker: Worker | undefined
  let latest = 0
  const waiting = new Map<number, { done: (made: Layout) => void; failed: (why: Error) => void }>()
  const start = (): Worker => {
    const rules = { createScriptURL: (url: string) => { if (url !== script) throw new TypeError(url); return url } }
    const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes
    const made = new Worker((policies?.createPolicy('planloop', rules) ?? rules).createScriptURL(script))
    made.onmessage = (e: MessageEvent<{ id: number; layout: Layout }>) => {
      waiting.get(e.data.id)?.done(e.data.layout)
      waiting.delete(e.data.id)
    }
    made.onerror = () => {
      for (const { failed } of waiting.values()) failed(new Error('the graph could not be worked out'))
      waiting.clear()
    }
    return made
  }
  return (steps, room) => new Promise((done, failed) => {
    worker ??= start()
    waiting.set(++latest, { done, failed })
    worker.postMessage({ id: latest, steps, room })
  })
}
