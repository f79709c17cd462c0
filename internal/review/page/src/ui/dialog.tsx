// Dialogs: the browser's modal ones, which keep the focus inside and give it back.

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { asFault, type Fault } from '../source'
import { unlocking, source, workspace } from '../store'
import { sentence } from './format'

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }) {
  const at = useRef<HTMLDialogElement>(null), id = useId()
  useEffect(() => {
    const from = document.activeElement
    at.current?.showModal()
    return () => { if (from instanceof HTMLElement && from.isConnected) from.focus() }
  }, [])
  return (
    <dialog ref={at} aria-labelledby={id} onClose={onClose} onClick={e => { if (e.target === e.currentTarget) e.currentTarget.close() }}>
      <div class="dialog">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

// Unlock asks for the code on the terminal.
export function Unlock() {
  return unlocking.value ? <UnlockDialog done={unlocking.value} /> : null
}

function UnlockDialog({ done }: { done: (ok: boolean) => void }) {
  const code = useSignal(''), wrong = useSignal<Fault | null>(null), busy = useSignal(false)
  const ask = () => {
    wrong.value = null
    source.value?.requestCode(workspace.value).catch((e: unknown) => { wrong.value = asFault(e) })
  }
  useEffect(ask, [])
  const send = async (e: Event) => {
    e.preventDefault()
    if (busy.value || !code.value) return
    busy.value = true
    wrong.value = null
    try {
      await source.value?.unlock(code.value)
      done(true)
    } catch (caught) {
      wrong.value = asFault(caught)
      code.value = ''
    }
    busy.value = false
  }
  return (
    <Dialog title="Type the code from the terminal" onClose={() => done(false)}>
      <form onSubmit={send}>
        <p id="unlock-why">
          Type the six digits shown in the terminal where you started planloop. If it runs in the background, see them with <code>planloop
          review --code</code> in a terminal. Programs that read this browser cannot see them, so the code proves that you are deciding.
          This browser then decides without one in every workspace, until it is idle for 8 hours (1 hour under approval: person).
        </p>
        <input class="code" inputMode="numeric" autoComplete="one-time-code" maxLength={6} aria-label="Six-digit code" aria-describedby="unlock-why unlock-wrong"
          aria-invalid={wrong.value ? true : undefined} autofocus value={code.value} onInput={e => { code.value = e.currentTarget.value.replace(/\D/g, '') }} />
        <p id="unlock-wrong" class="wrong" role="alert">{wrong.value && `${sentence(wrong.value.problem)} ${sentence(wrong.value.fix)}`}</p>
        <div class="buttons">
          <button class="primary" disabled={busy.value || code.value.length < 6}>Continue</button>
          <button type="button" onClick={() => done(false)}>Cancel</button>
          <button type="button" class="quiet" onClick={ask}>Show a new code</button>
        </div>
      </form>
    </Dialog>
  )
}
