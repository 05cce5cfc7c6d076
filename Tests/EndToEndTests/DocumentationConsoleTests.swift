import Foundation
import TestSupport
import Testing

/// The console of the reference, in a real browser.
@Suite(.timeLimit(.minutes(3))) struct DocumentationConsoleTests {
    private static func part(_ name: String) -> String { "#console [data-part=\(name)]" }

    /// Whatever this page, its address or the browser keeps beyond the field of the key, as one text.
    private static let kept = """
        const done = arguments[arguments.length - 1];
        Promise.all([indexedDB.databases(), caches.keys()]).then(([databases, stores]) => done(JSON.stringify([
            location.href, document.cookie, history.state, databases, stores, {...localStorage}, {...sessionStorage},
            performance.getEntries().map((entry) => entry.name),
            [...document.querySelectorAll("*")].map((node) => [...node.attributes].map((part) => part.value)),
        ])));
        """

    private func send(_ browser: Browser, until text: String) async throws {
        try await browser.click(Self.part("send"))
        try await until { try await browser.text(Self.part("status")).hasPrefix(text) }
        // The answer is whole when there is nothing left to stop.
        try await until { try await browser.evaluate("document.querySelector('[data-part=stop]').hidden") }
    }

    @Test func `it sends a real request with a key, shows the answer, and keeps the key nowhere`() async throws {
        let origin = try WireOrigin(playing: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        try await ServiceProcess.Place.with(allowing: ["127.0.0.1:\(origin.port)"]) { place in
            let key = try await place.key()
            let service = try await ServiceProcess.start(place, key: key)
            try await Browser.with { browser in
                try await browser.open(service.base + "/docs/operations/submitJob")
                #expect(try await browser.text("#console h2") == "Try it")
                // Without a key it is refused, and says so.
                try await send(browser, until: "401")
                #expect(try await browser.text(Self.part("answer")).contains(#""code": "unauthorized""#))

                let markup = "<img src=x onerror=alert(1)>"
                let job = #"{"request": "\#(origin.url("/a"))", "labels": {"<b>l</b>": "\#(markup)"}}"#
                try await browser.type(key, into: Self.part("key"))
                try await browser.clear(Self.part("body"))
                try await browser.type(job, into: Self.part("body"))
                try await send(browser, until: "20")
                let answer = try await browser.text(Self.part("answer"))
                let id = try #require(answer.firstMatch(of: /job_[0-9a-z]{26}/).map { String($0.0) }, "\(answer)")
                let stored = try await service.job(id) { member($0, "state") == "succeeded" }
                #expect(member(stored, "request", "url") == origin.url("/a"))
                #expect(!(try await browser.runAsync(Self.kept, as: String.self)).contains(key))
                #expect(try await browser.url == service.base + "/docs/operations/submitJob")

                // Leaving the page takes the key away.
                try await browser.open(service.base + "/docs/operations/getJob")
                try await send(browser, until: "401")
                try await browser.type(key, into: Self.part("key"))
                try await browser.clear("#console [data-part=path][data-name=id]")
                try await browser.type(id, into: "#console [data-part=path][data-name=id]")
                try await send(browser, until: "200")
                let shown = try await browser.text(Self.part("answer"))
                // What a client controls is text here.
                #expect(shown.contains(markup) && shown.contains(#""state": "succeeded""#))
                #expect(try await browser.evaluate("document.querySelectorAll('#console img, #console b').length") == 0)
                #expect(!(try await browser.runAsync(Self.kept, as: String.self)).contains(key))

                try await browser.run("location.reload()")
                try await until {
                    try await browser.evaluate("document.querySelector('#console [data-part=key]')?.value ?? '?'") == ""
                }
            }
            #expect(try await service.stop() == 0)
            #expect(!service.logged.contains(key))
        }
    }
}
