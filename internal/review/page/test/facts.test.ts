import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf } from '../src/ui/facts'
import type { Step } from '../src/types'

const step = (number: number, more: Partial<Step> = {}): Step => ({ id: `S00${number}`, number, title: 'Do', status: 'pending', ...more })
const texts = (...steps: Step[]) => factsOf(steps).map(p => p.text)

test('what a plan does not say is left out', () => {
  assert.deepEqual(factsOf([]), [])
  assert.deepEqual(texts(step(1)), ['1 step'])
})

test('each part names its steps', () => {
  const parts = factsOf([
    step(1, { paths: ['api/limit.go', 'api'], verify: 'cd api && CGO_ENABLED=0 go test ./...' }),
    step(2, { creates: ['deploy/a.yaml', './deploy/b.yaml'], risk: 'high' }),
    step(3, { risk: 'high', tool: 'bash_execute', args: '{"command": "kubectl apply -f deploy | tee \\"a; rm b\\""}', warnings: [{ gate: 'reversible', text: 'It has high risk, and no rollback is described.' }] }),
    step(4, { status: 'skipped', risk: 'high', paths: ['gone/x'] }),
  ])
  assert.deepEqual(parts.map(p => [p.text, p.steps.join(' ')]), [
    ['4 steps', '1 2 3 4'], ['2 high risk (2, 3)', '2 3'], ['no rollback described for 3', '3'], ['touches api/, deploy/', '1 2'], ['creates 2 files', '2'],
    ['runs go test, kubectl apply, tee', '1 3'],
  ])
})

test('long lists are counted, and arguments that are no object name the tool', () => {
  assert.ok(texts(...[1, 2, 3, 4, 5, 6].map(n => step(n, { risk: 'high', title: 'Act' }))).includes('6 high risk (1, 2, 3 +3)'))
  assert.ok(texts(step(1, { verify: 'for n in 1 2; do make x >&2; done; until [ -e go ]; do sleep 1; done' })).includes('runs make'))
  assert.ok(texts(step(1, { tool: 'deploy', args: '[' }), step(2, { tool: 'deploy', args: 'null' })).includes('runs deploy'))
})

test('warnings are named by their gates: the rollbacks, two other reasons, and the rest is counted', () => {
  const warned = (...gates: string[]) => ({ warnings: gates.map(gate => ({ gate, text: 'It …' })) })
  assert.deepEqual(texts(step(1, warned('hint_actionable', 'verifiable')), step(2, warned('oversize')), step(3, warned('reversible')), step(4, warned('of_the_future'))),
    ['4 steps', 'no rollback described for 3', 'no check for 1', 'too large: 2', '2 more warnings (1, 4)'])
  assert.deepEqual(texts(step(1, { warnings: [{ text: 'It is in an old log.' }] })), ['1 step', '1 warning (1)'])
})
