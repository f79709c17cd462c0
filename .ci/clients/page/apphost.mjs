// The host of an MCP App, in a browser: the official bridge between a sandboxed frame and the test's own behaviour of a host. It is bundled
// and runs in the page; the test exposes `planloop` there.
import { AppBridge, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';

const host = { messages: [], sizes: [], asked: [] };
window.host = host;

// render shows the app with a tool's call and its result, as a conversation does.
host.render = async (call, result, options = {}) => {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', options.sandbox ?? 'allow-scripts');
  frame.style.cssText = 'width: 760px; height: 200px; border: 1px solid';
  frame.title = 'planloop';
  document.getElementById('conversation').replaceChildren(frame);
  const capabilities = { openLinks: {}, message: { text: {} }, ...(options.mute ? {} : { serverTools: {} }) };
  const bridge = new AppBridge(null, { name: 'test host', version: '1' }, capabilities, { hostContext: {
    theme: options.theme ?? 'light', displayMode: 'inline', availableDisplayModes: ['inline', 'fullscreen'],
    styles: { variables: { '--color-background-primary': 'rgb(250, 249, 245)', '--color-text-primary': 'url(https://example.com/x)' } } } });
  bridge.oncalltool = async (params) => {
    host.asked.push(params.name);
    return await window.planloopCall(params.name, params.arguments ?? {});
  };
  bridge.onsizechange = ({ height }) => {
    host.sizes.push(height);
    if (height) frame.style.height = `${height}px`;
  };
  bridge.onmessage = async (params) => {
    host.messages.push(params.content.map((part) => part.text).join(''));
    return {};
  };
  bridge.onrequestdisplaymode = async ({ mode }) => {
    bridge.setHostContext({ ...bridge.context, displayMode: mode });
    host.mode = mode;
    return { mode };
  };
  const initialized = new Promise((done) => { bridge.oninitialized = done; });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = '/app';
  await initialized;
  host.about = bridge.getAppVersion();
  await bridge.sendToolInput({ arguments: call });
  if (result) await bridge.sendToolResult(result);
  host.bridge = bridge;
};

// silent shows the app in a host that never sends a message.
host.silent = () => {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.src = '/app';
  document.getElementById('conversation').replaceChildren(frame);
};

host.context = (context) => host.bridge.setHostContext(context);
host.teardown = () => host.bridge.teardownResource({});

// forge makes a window other than the frame's parent send a message reserved for the parent.
host.forge = (message) => new Promise((done) => {
  const stranger = document.createElement('iframe');
  stranger.srcdoc = '<p>stranger</p>';
  stranger.onload = () => {
    const script = stranger.contentDocument.createElement('script');
    script.textContent = `parent.frames[0].postMessage(${JSON.stringify(message)}, '*')`;
    stranger.contentDocument.body.append(script);
    setTimeout(() => { stranger.remove(); done(); }, 200);
  };
  document.body.append(stranger);
});
