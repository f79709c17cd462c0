import assert from 'node:assert/strict'
import { afterEach, beforeEach, mock, test } from 'node:test'
import { type Said, stream } from '../src/stream'

const settled = () => new Promise(done => { setImmediate(done) })

let wall = 0 // ms on the wall clock, which does not move timers

// pass moves the clock second by second, so that code which awaits promises runs in between.
async function pass(seconds: number): Promise<void> {
  for (let n = 0; n < seconds; n++) {
    wall += 1000
    mock.timers.tick(1000)
    await settled()
  }
}

// sleep simulates a sleeping machine: only the wall clock moves.
const sleep = (seconds: number) => { wall += seconds * 1000 }

// Server answers each try as answers says, and records the outcome.
class Server {
  tries: { cut: boolean; say(text: string): void }[] = []
  told: string[] = []
  open = 0
  most = 0
  ended = new AbortController()
  answers: 'stream' | 'nothing' | 'refuses' | 'busy' = 'stream'
  stream = stream({ ask: cut => this.ask(cut), enter: () => Promise.resolve('refused'), tell: said => { this.hear(said) } }, this.ended.signal)

  hear(said: Said): void { this.told.push(said.state ?? said.change?.workspace ?? '') }

  ask(cut: AbortSignal): Promise<Response> {
    const made = { cut: false, say: (_: string) => {} }
    this.tries.push(made)
    if (this.answers === 'refuses') return Promise.reject(new Error('refused'))
    if (this.answers === 'busy') return Promise.resolve(new Response('', { status: 429 }))
    this.most = Math.max(this.most, ++this.open)
    return new Promise((answered, failed) => {
      let fail = failed
      cut.addEventListener('abort', () => {
        made.cut = true
        this.open--
        fail(new Error('cut'))
      })
      if (this.answers === 'nothing') return
      answered(new Response(new ReadableStream({
        start(c) {
          made.say = text => { c.enqueue(new TextEncoder().encode(text)) }
          fail = e => { c.error(e) }
        },
      })))
    })
  }
}

let server: Server
beforeEach(async () => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  mock.method(Date, 'now', () => wall)
  server = new Server()
  await settled()
})
afterEach(async () => {
  server.ended.abort()
  await server.stream.ended
  mock.timers.reset()
  mock.restoreAll()
})

test('a stream that beats is kept, and whatever is heard is a beat', async () => {
  for (let n = 0; n < 20; n++) {
    await pass(20)
    server.stream.look()
    server.tries[0]?.say(n % 2 ? ': here\n\n' : 'data: {"workspace":"W"}\n\n')
    await settled()
  }
  assert.equal(server.tries.length, 1)
  assert.deepEqual(server.told, ['live', ...Array<string>(10).fill('W')])
})

test('a silent stream is ended and opened anew, once', async () => {
  await pass(49)
  assert.equal(server.tries.length, 1)
  await pass(7)
  assert.equal(server.tries.length, 2)
  assert.ok(server.tries[0]?.cut)
  assert.deepEqual(server.told, ['live', 'live'])
})

test('time that the machine slept through counts, wherever the clock was set to', async () => {
  for (const seconds of [3600, -3600]) {
    const before = server.tries.length
    sleep(seconds)
    await pass(5)
    assert.equal(server.tries.length, before + 1)
  }
})

test('a look finds a stream dead when a beat is overdue, and lets a young one be', async () => {
  sleep(20)
  server.stream.look()
  await settled()
  assert.equal(server.tries.length, 1)
  sleep(2)
  for (let n = 0; n < 50; n++) server.stream.look()
  await settled()
  assert.equal(server.tries.length, 2)
  assert.deepEqual(server.told, ['live', 'live'], 'without a word of a connection that is lost')
})

test('who gets no answer is told so, and tries go on one at a time', async () => {
  server.answers = 'nothing'
  sleep(60)
  server.stream.look()
  await pass(3)
  assert.deepEqual(server.told, ['live', 'lost'])
  for (let n = 0; n < 120; n++) {
    server.stream.look()
    await pass(1)
  }
  assert.ok(server.tries.length <= 8, `${server.tries.length} tries in two minutes`)
  assert.equal(server.most, 1)
  server.answers = 'stream'
  sleep(60)
  server.stream.look()
  await settled()
  assert.equal(server.told.at(-1), 'live')
})

test('a look cuts a pause short, once a second at most, and the next pause is as long as it was to be', async () => {
  server.answers = 'refuses'
  sleep(60)
  server.stream.look()
  await pass(20) // the pauses have grown to 5 s by now
  assert.equal(server.told.at(-1), 'lost')
  const before = server.tries.length
  await pass(20)
  assert.ok(server.tries.length - before <= 5, 'what is refused is tried at leisure')
  server.answers = 'stream'
  const last = server.tries.length
  sleep(2)
  for (let n = 0; n < 50; n++) {
    server.stream.look()
    await settled()
  }
  assert.equal(server.tries.length, last + 1)
  assert.equal(server.told.at(-1), 'live')
})

test('looks at a server that refuses lead to no burst', async () => {
  server.answers = 'refuses'
  sleep(60)
  for (let n = 0; n < 500; n++) {
    server.stream.look()
    await settled()
  }
  assert.ok(server.tries.length <= 3, `${server.tries.length} tries`)
  await pass(20)
  const before = server.tries.length
  sleep(2)
  server.stream.look()
  await pass(4)
  assert.equal(server.tries.length, before + 1, 'the pause behind it has not become short')
})

test('a server that has no room for a stream leaves the page out of touch', async () => {
  server.answers = 'busy'
  sleep(60)
  server.stream.look()
  await settled()
  assert.equal(server.told.at(-1), 'lost')
})
