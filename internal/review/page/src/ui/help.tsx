// All keys that work now, from their own table.

import { useLayoutEffect } from 'preact/hooks'
import { bind, bound, type Key } from '../keys'
import { helping } from '../store'
import { Dialog } from './dialog'

const groups: Key['group'][] = ['Deciding', 'Steps', 'Text of a step', 'Viewing']

export function Help() {
  useLayoutEffect(() => bind({ keys: ['?'], what: 'These keys', group: 'Viewing', run: () => { helping.value = true } }), [])
  if (!helping.value) return null
  return (
    <Dialog title="Keys" onClose={() => { helping.value = false }}>
      <div class="help" tabIndex={0} role="group" aria-label="All keys">
        {groups.map(group => {
          const keys = bound().filter(k => k.group === group)
          return keys.length > 0 && (
            <section key={group} aria-label={group}>
              <h3>{group}</h3>
              <dl>
                {keys.map(k => (
                  <div key={k.what} class={k.when && !k.when() ? 'not-now' : ''}>
                    <dt>{k.keys.map((name, i) => <>{i > 0 && <span class="or"> or </span>}<kbd key={name}>{plain(name)}</kbd></>)}</dt>
                    <dd>{k.what}</dd>
                  </div>
                ))}
              </dl>
            </section>
          )
        })}
      </div>
      <p class="soft small">Grey keys do nothing at the moment. These keys are off while you type in a field.</p>
      <div class="buttons"><button class="primary" onClick={() => { helping.value = false }}>Close</button></div>
    </Dialog>
  )
}

const names: Record<string, string> = { ArrowUp: '↑', ArrowDown: '↓', ArrowLeft: '←', ArrowRight: '→', Escape: 'Esc', Space: 'Space' }

function plain(name: string): string {
  return name.replace(/^(Alt)\+/, '$1 ').replace(/[^ ]+$/, key => names[key] ?? key)
}
