import Foundation
import HTTPTypes
import TestSupport
import Testing

/// Pages that steer downloads, as AriaNg does: they are served from elsewhere, and call by fetch and by WebSocket.
@Suite(.timeLimit(.minutes(2))) struct Aria2BrowserTests {
    /// Adds a download by WebSocket, waits to be told of its end, and asks for its status by fetch.
    private static func script(_ base: String, _ key: String, _ file: String) -> String {
        """
        const done = arguments[arguments.length - 1];
        const text = (method, ...params) =>
          JSON.stringify({ jsonrpc: "2.0", id: method, method, params: ["token:\(key)", ...params] });
        const post = async (...call) => (await (await fetch("\(base)/jsonrpc", {
          method: "POST", headers: { "Content-Type": "application/json" }, body: text(...call),
        })).json()).result;
        const seen = [];
        setTimeout(() => done(`nothing more after ${seen}`), 20000);
        const steer = async () => {
          await post("aria2.getVersion");
          seen.push("fetch");
          const socket = new WebSocket("\(base.replacing("http", with: "ws", maxReplacements: 1))/jsonrpc");
          let gid;
          await new Promise((resolve, reject) => {
            socket.onerror = () => reject("no socket");
            socket.onopen = () => socket.send(text("aria2.addUri", ["\(file)"]));
            socket.onmessage = ({ data }) => {
              const message = JSON.parse(data);
              seen.push(data);
              if (message.id === "aria2.addUri") gid = message.result;
              if (message.method === "aria2.onDownloadComplete") resolve();
            };
          });
          const told = await post("aria2.tellStatus", gid, ["status", "completedLength"]);
          return `${told.status} ${told.completedLength}`;
        };
        steer().then(done, (error) => done(String(error)));
        """
    }

    @Test func `a page of an origin that is named steers downloads from a browser, and one of another does not`()
        async throws
    {
        let pages = try await LoopbackServer.nginx(
            files: ["page.html": Data("<!doctype html><title>Downloads</title>".utf8), "file": Data("hello".utf8)])
        let settings = ["ARIA2_ALLOWED_ORIGINS": "http://127.0.0.1:\(pages.port)"]
        try await ServiceProcess.with(allowing: [pages.rule], settings: settings) { service in
            let script = Self.script(service.base, service.key, pages.url("/file"))
            try await Browser.with { browser in
                try await browser.open(pages.url("/page.html"))
                let told: String = try await browser.runAsync(script)
                #expect(told == "complete 5", "\(service.logged)")
                // Another name is another origin.
                try await browser.open("http://localhost:\(pages.port)/page.html")
                let refused: String = try await browser.runAsync(script)
                #expect(refused.contains("Failed to fetch"))
            }
        }
    }
}
