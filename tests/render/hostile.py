"""Pages that mean harm to whoever shows them: the scripts of each."""

from __future__ import annotations

# What each page says in its HTML, whatever its scripts do: it is found in its text in the end.
MARK = "what the page says, whatever its scripts do"
# They are never done.
RESTLESS = {"timers-that-grow", "growth", "blocking", "blocking-at-once"}

# `%(port)d` is where somebody listens whom no page may reach.
PAGES = {
    "timers": "setInterval(() => document.body.append('x'), 50);",
    "timers-that-grow": ("setInterval(() => document.body.appendChild(document.createElement('p')), 50);"),
    "alerts": "for (let i = 0; i < 1e6; i++) { alert(i); confirm(i); prompt(i); }",
    "alerts-of-a-frame": (
        "const f = document.createElement('iframe'); document.body.append(f);"
        "setInterval(() => f.contentWindow.alert('look'), 10);"
    ),
    "beforeunload": (
        "addEventListener('beforeunload', e => { e.preventDefault(); return e.returnValue = 'stay'; });"
        "location.href = '/elsewhere';"
    ),
    "download": (
        "const a = document.createElement('a'); a.href = 'data:application/octet-stream,aaaa'; a.download = 'a.exe';"
        "document.body.append(a); for (let i = 0; i < 20; i++) a.click();"
        "const b = URL.createObjectURL(new Blob(['x'.repeat(1e6)])); a.href = b; a.click();"
    ),
    "windows": (
        "for (let i = 0; i < 50; i++) { window.open('http://127.0.0.1:%(port)d/' + i); }"
        "const a = document.createElement('a'); a.target = '_blank'; a.href = 'http://127.0.0.1:%(port)d/a';"
        "document.body.append(a); for (let i = 0; i < 20; i++) a.click();"
    ),
    "service-worker": (
        "navigator.serviceWorker && navigator.serviceWorker.register('/worker.js').catch(() => 0);"
        "try { new Worker('/worker.js'); } catch (e) {}"
        "new Worker(URL.createObjectURL(new Blob([\"fetch('http://127.0.0.1:%(port)d/w').catch(() => 0);"
        "try { new WebSocket('ws://127.0.0.1:%(port)d/w'); } catch (e) {}\"])));"
    ),
    "sockets": (
        "for (const name of ['WebSocket', 'EventSource', 'WebTransport'])"
        " try { new window[name]((name == 'WebSocket' ? 'ws' : name == 'EventSource' ? 'http' : 'https')"
        " + '://127.0.0.1:%(port)d/s'); } catch (e) {}"
        "const f = document.createElement('iframe'); document.body.append(f);"
        "try { new f.contentWindow.WebSocket('ws://127.0.0.1:%(port)d/f'); } catch (e) {}"
    ),
    "webrtc": (
        "const f = document.createElement('iframe'); document.body.append(f);"
        "for (const of of [window, f.contentWindow]) try {"
        " const c = new of.RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:%(port)d'},"
        " {urls: 'turn:127.0.0.1:%(port)d?transport=tcp', username: 'a', credential: 'b'}]});"
        " c.createDataChannel('x'); c.createOffer().then(o => c.setLocalDescription(o)); } catch (e) {}"
    ),
    "closed-addresses": (
        "for (const to of ['http://127.0.0.1:%(port)d/x', 'http://localhost:%(port)d/x', 'http://[::1]:%(port)d/x',"
        " 'http://0.0.0.0:%(port)d/x', 'http://2130706433:%(port)d/x', 'http://0x7f.1:%(port)d/x',"
        " 'http://[::ffff:127.0.0.1]:%(port)d/x', 'http://169.254.169.254/latest/meta-data/',"
        " 'http://closed.test:%(port)d/x', '/to-the-closed', 'ftp://127.0.0.1:%(port)d/', 'file:///etc/passwd'])"
        " { fetch(to, {mode: 'no-cors'}).then(a => a.text()).then(t => document.body.append('GOT ' + t))"
        ".catch(() => 0); for (const tag of ['script', 'img', 'iframe', 'link', 'object', 'embed', 'video']) {"
        " const e = document.createElement(tag); e.src = e.href = e.data = to; e.rel = 'stylesheet';"
        " document.body.append(e); } navigator.sendBeacon(to, 'x'); }"
    ),
    "growth": (
        "function grow() { for (let i = 0; i < 20000; i++) document.body.append(document.createElement('p'));"
        " setTimeout(grow, 0); } grow();"
    ),
    "document-write": (
        "setInterval(() => { document.open(); document.write('<p>' + Math.random() + '</p>'); document.close(); }, 1);"
    ),
    "location-loop": "setInterval(() => { location.href = '/loop' + Math.random(); }, 1);",
    "refresh": (
        "const m = document.createElement('meta'); m.httpEquiv = 'refresh'; m.content = '0; url=/refreshed';"
        "document.head.append(m); setInterval(() => location.reload(), 5);"
    ),
    "memory": (
        "const kept = []; function eat() { for (let i = 0; i < 8; i++) { const a = new Uint8Array(8 << 20); a.fill(7);"
        " kept.push(a); } setTimeout(eat, 0); } eat();"
    ),
    "blocking": "setTimeout(() => { while (true); }, 100);",
    "blocking-at-once": "while (true);",
    "frames": (
        "for (let i = 0; i < 300; i++) { const f = document.createElement('iframe');"
        " f.src = '/frame' + i; document.body.append(f); }"
    ),
    "blob-and-data": (
        "const b = URL.createObjectURL(new Blob(['<p>another'], {type: 'text/html'}));"
        "setTimeout(() => { location.href = 'data:text/html,<p>another'; location.href = b; }, 10);"
    ),
    "print": "for (let i = 0; i < 100; i++) print();",
    "permissions": (
        "Notification.requestPermission().catch(() => 0); navigator.geolocation.getCurrentPosition(() => 0, () => 0);"
        "navigator.mediaDevices && navigator.mediaDevices.getUserMedia({audio: true, video: true}).catch(() => 0);"
        "navigator.clipboard && navigator.clipboard.readText().catch(() => 0);"
        "document.documentElement.requestFullscreen().catch(() => 0);"
    ),
    "push-state": (
        "let n = 0; setInterval(() => { for (let i = 0; i < 50; i++) history.pushState({}, '', '/p' + n++); }, 1);"
    ),
    "crash": "const c = 'chrome://crash'; setTimeout(() => { location.href = c; }, 10);",
    "requests": "for (let i = 0; i < 500; i++) fetch('/many' + i).catch(() => 0);",
    "requests-in-a-row": (
        "(async () => { for (let i = 0; ; i++) { try { await fetch('/row' + i); } catch (e) {} } })();"
    ),
}


def html(script: str) -> str:
    return (
        f"<!doctype html><html><head><title>hostile</title></head><body><p>{MARK}</p>"
        f'<div id="root"></div><script>{script}</script></body></html>'
    )
