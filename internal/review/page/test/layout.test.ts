import assert from 'node:assert/strict'
import { test } from 'node:test'
import { essential, type Knot, type Layout, layout } from '../src/graph/layout'
import { tangle } from './plans'

const wide = { width: 1200, height: 640 }, narrow = { width: 360, height: 520 }
const chain = (count: number): Knot[] => Array.from({ length: count }, (_, i) => ({ n: i + 1, after: i ? [i] : [] }))
const loose = (count: number): Knot[] => Array.from({ length: count }, (_, i) => ({ n: i + 1, after: [] }))

function sound(steps: Knot[], made: Layout): void {
  assert.equal(made.spots.length, steps.length)
  assert.equal(new Set(made.spots.map(s => s.n)).size, steps.length)
  const { width, height } = made.box
  for (const s of made.spots) {
    assert.ok(s.x >= width / 2 && s.x <= made.width - width / 2 && s.y >= height / 2 && s.y <= made.height - height / 2, `${s.n} is outside`)
  }
  const near = new Map<string, typeof made.spots>()
  for (const s of made.spots) {
    const [cx, cy] = [Math.floor(s.x / width), Math.floor(s.y / height)]
    for (const dx of [-1, 0, 1]) for (const dy of [-1, 0, 1]) {
      for (const o of near.get(`${cx + dx} ${cy + dy}`) ?? []) {
        assert.ok(Math.abs(o.x - s.x) >= width - 0.01 || Math.abs(o.y - s.y) >= height - 0.01, `${s.n} and ${o.n} overlap`)
      }
    }
    near.set(`${cx} ${cy}`, [...near.get(`${cx} ${cy}`) ?? [], s])
  }
  for (const line of made.lines) assert.match(line.d, /^M[-\d. LCQ]+$/, `from ${line.from} to ${line.to}`)
}

for (const [name, steps] of Object.entries({
  none: [], one: loose(1), 'twelve in a row': chain(12), 'a tangle of 12': tangle(12), 'a tangle of 60': tangle(60),
  'a tangle of 500': tangle(500), '500 in a row': chain(500), '300 that hang together with nothing': loose(300), '1500': tangle(1500),
})) {
  for (const room of [wide, narrow]) {
    test(`${name}, ${room === wide ? 'wide' : 'narrow'}: each step has its place in the picture`, () => sound(steps, layout(steps, room)))
  }
}

test('what a step waits for stands above it, or to its left', () => {
  for (const room of [wide, narrow, { width: 1600, height: 300 }]) {
    const made = layout(tangle(12), room)
    const at = new Map(made.spots.map(s => [s.n, s]))
    for (const line of made.lines) {
      const from = at.get(line.from)!, to = at.get(line.to)!
      assert.ok(made.across ? from.x < to.x : from.y < to.y, `${line.from} before ${line.to}`)
    }
  }
})

test('a line that follows from others is left out', () => {
  const lines = essential([{ n: 1, after: [] }, { n: 2, after: [1] }, { n: 3, after: [1, 2] }, { n: 4, after: [3, 1, 2] }])
  assert.deepEqual([...lines], [[1, []], [2, [1]], [3, [2]], [4, [3]]])
})

test('what is left still leads from each step to all that it waits for', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const steps = tangle(70, seed), kept = essential(steps)
    const all = (of: (n: number) => readonly number[], n: number, into = new Set<number>()): Set<number> => {
      for (const m of of(n)) if (!into.has(m)) { into.add(m); all(of, m, into) }
      return into
    }
    for (const step of steps) {
      assert.deepEqual([...all(n => kept.get(n)!, step.n)].sort(), [...all(n => steps[n - 1]!.after, step.n)].sort())
    }
  }
})

test('circles, strangers and a step that waits for itself do no harm', () => {
  const steps = [{ n: 1, after: [2] }, { n: 2, after: [1] }, { n: 3, after: [99, 3] }, { n: 4, after: [3, 3, 1] }]
  sound(steps, layout(steps, wide))
})

test('500 steps that are no tangle but a long row are set in columns', () => {
  const made = layout(chain(500), wide)
  assert.ok(made.width / made.height > 1 && made.width / made.height < 3, `${made.width} by ${made.height}`)
})

test('where cards would be too small to read, the steps are drawn as numbers', () => {
  assert.equal(layout(tangle(12), wide).box.roomy, true)
  assert.equal(layout(tangle(12), { width: 240, height: 200 }).box.roomy, false)
})

test('500 steps take less than 150 ms of the processor, with as much again for a slow machine', () => {
  const steps = tangle(500)
  const took = Array.from({ length: 5 }, () => {
    const began = process.cpuUsage()
    layout(steps, wide)
    const spent = process.cpuUsage(began)
    return (spent.user + spent.system) / 1000
  })
  assert.ok(Math.min(...took) < 300, `${took.map(Math.round)} ms`)
})
