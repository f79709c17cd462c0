// Signs in with a passkey, or registers one with an invitation, whose secret is the part after # of its link.
'use strict'

const find = id => document.getElementById(id)
const invited = location.pathname === '/invite'
const approving = location.pathname === '/approve'
const hash = location.hash.slice(1) // the invitation, the workspace, or the place that the page will open

// call returns the server's answer. A refusal is thrown in its own words.
async function call(path, body) {
  const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
    credentials: 'same-origin', cache: 'no-store', redirect: 'error' })
  const value = await answer.json()
  if (!answer.ok) throw new Error(value.fix ? `${value.problem}; ${value.fix}` : value.problem)
  return value
}

const open = ({ link }) => location.replace(link + (invited || !hash ? '' : '&' + hash))

async function sign(options) {
  const signed = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey) })
  return { credential: signed.toJSON() }
}

// approve shows the plan at the first press of the button, and signs its approval at the second.
let shown
async function approve() {
  if (!shown) {
    shown = await call('/approve/begin', { workspace: decodeURIComponent(hash) })
    find('about').textContent = `${shown.objective} · ${shown.steps} step${shown.steps === 1 ? '' : 's'} · ${shown.short}`
    find('go').textContent = 'Approve, signed with a passkey'
    find('go').disabled = false
    return
  }
  const { options } = shown
  shown = undefined // a challenge is used once
  await call('/approve/finish', await sign(options))
  location.replace('/#workspace=' + encodeURIComponent(decodeURIComponent(hash)))
}

async function register() {
  const options = await call('/invite/begin', { invitation: hash })
  const made = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey) })
  open(await call('/invite/finish', { invitation: hash, credential: made.toJSON() }))
}

async function signIn() {
  const options = await call('/signin/begin', {})
  open(await call('/signin/finish', await sign(options)))
}

if (invited) {
  history.replaceState(null, '', location.pathname)
  find('about').textContent = 'You are invited to your team’s plans. Register a passkey on this device, and sign in with it from now on.'
  find('go').textContent = 'Register a passkey'
} else if (approving) {
  find('about').textContent = 'Read the plan on the review page first, and compare the beginning of its digest.'
  find('go').textContent = 'Show the waiting plan'
} else if (!new URLSearchParams(location.search).has('again')) {
  call('/signin/resume', {}).then(open, () => {}) // this browser may be signed in already
}

find('go').addEventListener('click', async () => {
  find('go').disabled = true
  find('problem').textContent = ''
  try {
    await (invited ? register() : approving ? approve() : signIn())
  } catch (e) {
    const text = e.name === 'NotAllowedError' ? 'No passkey was used; try again' : e.message
    find('problem').textContent = text.charAt(0).toUpperCase() + text.slice(1) + '.'
    find('go').disabled = false
  }
})
