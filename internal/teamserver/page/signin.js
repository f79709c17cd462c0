// Signs in with a passkey, or registers one with an invitation, whose secret is the part after # of its link.
'use strict'

const find = id => document.getElementById(id)
const invited = location.pathname === '/invite'
const hash = location.hash.slice(1) // the invitation, or the place that the page will open

// call returns the server's answer. A refusal is thrown in its own words.
async function call(path, body) {
  const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
    credentials: 'same-origin', cache: 'no-store', redirect: 'error' })
  const value = await answer.json()
  if (!answer.ok) throw new Error(value.fix ? `${value.problem}; ${value.fix}` : value.problem)
  return value
}

const open = ({ link }) => location.replace(link + (invited || !hash ? '' : '&' + hash))

async function register() {
  const options = await call('/invite/begin', { invitation: hash })
  const made = await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey) })
  open(await call('/invite/finish', { invitation: hash, credential: made.toJSON() }))
}

async function signIn() {
  const options = await call('/signin/begin', {})
  const signed = await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey) })
  open(await call('/signin/finish', { credential: signed.toJSON() }))
}

if (invited) {
  history.replaceState(null, '', location.pathname)
  find('about').textContent = 'You are invited to your team’s plans. Register a passkey on this device, and sign in with it from now on.'
  find('go').textContent = 'Register a passkey'
} else if (!new URLSearchParams(location.search).has('again')) {
  call('/signin/resume', {}).then(open, () => {}) // this browser may be signed in already
}

find('go').addEventListener('click', async () => {
  find('go').disabled = true
  find('problem').textContent = ''
  try {
    await (invited ? register() : signIn())
  } catch (e) {
    const text = e.name === 'NotAllowedError' ? 'No passkey was used; try again' : e.message
    find('problem').textContent = text.charAt(0).toUpperCase() + text.slice(1) + '.'
    find('go').disabled = false
  }
})
