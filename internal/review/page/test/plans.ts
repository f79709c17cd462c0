// Plans to try things with, the same every time.

import type { Knot } from '../src/graph/layout'

export function random(seed: number): () => number {
  return () => (seed = (seed * 1664525 + 1013904223) % 4294967296) / 4294967296
}

// tangle makes steps that wait for up to three of those shortly before them.
export function tangle(count: number, seed = 7): Knot[] {
  const next = random(seed)
  return Array.from({ length: count }, (_, i) => ({
    n: i + 1,
    after: i === 0 ? [] : Array.from({ length: Math.floor(next() * 3.3) }, () => Math.max(1, i - Math.floor(next() * next() * 30))),
  }))
}
