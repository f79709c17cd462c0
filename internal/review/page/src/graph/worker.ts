// The layout of the graph, off the main thread.

import { type Knot, layout, type Room } from './layout'

self.onmessage = (e: MessageEvent<{ id: number; steps: Knot[]; room: Room }>) => {
  const { id, steps, room } = e.data
  self.postMessage({ id, layout: layout(steps, room) })
}
