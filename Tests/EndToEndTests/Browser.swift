import FetchEngine
import Foundation
import HTTPTypes
import TestSupport
import Testing

/// A real Chromium, driven by the W3C WebDriver protocol.
///
/// It is the one without windows: pages are shown by the same engine, and it takes two thirds of the processor's time.
final class Browser: Sendable {
    private let driver: Program
    private let base: String
    private let session = Session()

    private init(_ driver: Program, base: String) {
        self.driver = driver
        self.base = base
    }

    /// Runs a test in a browser with a fresh profile.
    ///
    /// - Parameter flags: Further arguments of the program.
    static func with(
        width: Int = 1000, flags: [String] = [], _ body: (Browser) async throws -> Void
    ) async throws {
        let port = try LoopbackServer.freePort()
        let driver = try Program(["/usr/bin/chromedriver", "--port=\(port)"])
        defer {
            driver.send(SIGTERM)
            _ = driver.waitForEnd()
        }
        let address = "http://127.0.0.1:\(port)"
        let start = Browser(driver, base: address)
        try await start.waitUntilItListens()
        let all = ["--no-sandbox", "--disable-gpu", "--window-size=\(width),900"] + flags
        let arguments = "[" + all.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
        let capabilities =
            #"{"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"binary": "/usr/lib/chromium/chromium-headless-shell", "args": \#(arguments)}}}}"#
        let created = try await start.post("/session", capabilities)
        let id = try #require(member(created, "value", "sessionId", as: String.self))
        let browser = Browser(driver, base: "\(address)/session/\(id)")
        do { try await body(browser) } catch {
            try await browser.quit()
            throw error
        }
        try await browser.quit()
    }

    func open(_ url: String) async throws { _ = try await post("/url", #"{"url": "\#(url)"}"#) }

    func type(_ text: String, into selector: String) async throws {
        let body = try JSONSerialization.data(withJSONObject: ["text": text])
        _ = try await post("/element/\(try await element(selector))/value", String(decoding: body, as: UTF8.self))
    }

    /// Empties a field.
    func clear(_ selector: String) async throws {
        _ = try await post("/element/\(try await element(selector))/clear", "{}")
    }

    func click(_ selector: String) async throws {
        _ = try await post("/element/\(try await element(selector))/click", "{}")
    }

    /// Clicks on what leads to another page, and waits until the page that is shown now is gone.
    func follow(_ selector: String) async throws {
        let page = try await element("html")
        try await click(selector)
        try await until {
            member(try await send(.get, "/element/\(page)/name"), "value", "error", as: String.self) != nil
        }
    }

    /// Shows pages as a screen of this size does; a window is never as narrow as a phone.
    func resize(width: Int, height: Int) async throws {
        try await devTools(
            "Emulation.setDeviceMetricsOverride",
            #"{"width": \#(width), "height": \#(height), "deviceScaleFactor": 1, "mobile": false}"#)
    }

    /// Shows pages as to who prefers this color scheme, `light` or `dark`.
    func prefer(scheme: String) async throws {
        try await devTools(
            "Emulation.setEmulatedMedia",
            #"{"features": [{"name": "prefers-color-scheme", "value": "\#(scheme)"}]}"#)
    }

    private func devTools(_ command: String, _ parameters: String) async throws {
        _ = try await post("/goog/cdp/execute", #"{"cmd": "\#(command)", "params": \#(parameters)}"#)
    }

    /// Checks a box, and waits until it is: a click is sent to a place, and what is there may still be moving.
    func check(_ selector: String) async throws {
        try await click(selector)
        try await until { member(try await send(.get, "/element/\(element(selector))/selected"), "value") == true }
    }

    /// What an expression of the page's own language gives.
    func evaluate<Value>(_ expression: String, as type: Value.Type = Value.self) async throws -> Value {
        let script = try JSONSerialization.data(withJSONObject: ["script": "return \(expression)", "args": [Any]()])
        let answer = try await post("/execute/sync", String(decoding: script, as: UTF8.self))
        return try #require(member(answer, "value", as: Value.self), "\(expression): \(answer)")
    }

    /// Runs a script in the page.
    func run(_ script: String) async throws {
        let body = try JSONSerialization.data(withJSONObject: ["script": script, "args": [Any]()])
        _ = try await post("/execute/sync", String(decoding: body, as: UTF8.self))
    }

    /// What a script hands to its last argument, a function.
    func runAsync<Value>(_ script: String, as type: Value.Type = Value.self) async throws -> Value {
        let body = try JSONSerialization.data(withJSONObject: ["script": script, "args": [Any]()])
        let answer = try await post("/execute/async", String(decoding: body, as: UTF8.self))
        return try #require(member(answer, "value", as: Value.self), "\(answer)")
    }

    /// The text that the page shows at a place.
    ///
    /// A page that is just being replaced has taken the place away from under the question, which is then asked again.
    func text(_ selector: String) async throws -> String {
        var text: String?
        try await until {
            let place = try await element(selector)
            text = member(try await send(.get, "/element/\(place)/text"), "value")
            return text != nil
        }
        return try #require(text)
    }

    /// A cookie of the page that is shown, as the browser keeps it; empty when there is none.
    func cookie(_ name: String) async throws -> [String: Any] {
        member(try await send(.get, "/cookie/\(name)"), "value") ?? [:]
    }

    var title: String { get async throws { try await string("/title") } }
    var url: String { get async throws { try await string("/url") } }

    /// The page as a PNG.
    var screenshot: Data {
        get async throws { Data(base64Encoded: try await string("/screenshot")) ?? Data() }
    }

    private func element(_ selector: String) async throws -> String {
        let escaped = selector.replacing("\"", with: "\\\"")
        let found = try await post("/element", #"{"using": "css selector", "value": "\#(escaped)"}"#)
        let value = try #require(member(found, "value", as: [String: String].self), "\(selector): \(found)")
        return try #require(value.values.first)
    }

    private func string(_ path: String) async throws -> String {
        try #require(member(try await send(.get, path), "value", as: String.self))
    }

    private func post(_ path: String, _ body: String) async throws -> [String: Any] {
        try await send(.post, path, body)
    }

    private func quit() async throws { _ = try await send(.delete, "") }

    private func send(_ method: HTTPRequest.Method, _ path: String, _ body: String? = nil) async throws -> [String: Any]
    {
        var request = Request(url: try URLRecord(base + path), method: method)
        request.body = body.map { .bytes(Array($0.utf8)) }
        let (bytes, _) = try await session.data(for: request)
        return try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any] ?? [:]
    }

    private func waitUntilItListens() async throws {
        // Asking is the only way to know when it is there.
        try await until { (try? await send(.get, "/status")) != nil }
    }
}
