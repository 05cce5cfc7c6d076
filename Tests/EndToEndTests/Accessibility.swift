import Foundation
import Testing

/// The rules of axe-core, which pages are looked at by in a browser with scripts.
enum Accessibility {
    /// The program of axe-core; `scripts/install-dependencies test` brings it.
    private static func program() throws -> String {
        let libraries = URL(filePath: FileManager.default.currentDirectoryPath).appending(path: ".venv/lib")
        for version in try FileManager.default.contentsOfDirectory(at: libraries, includingPropertiesForKeys: nil) {
            let file = version.appending(path: "site-packages/axe_playwright_python/axe.min.js")
            if FileManager.default.fileExists(atPath: file.path()) {
                return try String(contentsOf: file, encoding: .utf8)
            }
        }
        throw CocoaError(.fileNoSuchFile)
    }

    /// What the page breaks: a rule, its help, and the nodes that break it.
    ///
    /// WebDriver runs the program in the page from outside, which the page's own policy does not keep from it.
    ///
    /// - Parameter colorsOnly: Whether only the rules about colors are applied, for a page that differs in its colors
    ///   from one that all rules were applied to.
    static func violations(of browser: Browser, colorsOnly: Bool = false) async throws -> [String] {
        try await browser.run("\(try program()); return true")
        let options = colorsOnly ? #"{ runOnly: ["color-contrast", "link-in-text-block"] }"# : "{}"
        return try await browser.runAsync(
            """
            const done = arguments[arguments.length - 1];
            const fewest = \(colorsOnly ? 1 : 10);
            axe.run(document, \(options)).then(
                (result) => done(result.passes.length < fewest ? ["axe: hardly a rule was applied"] : result.violations.map((found) =>
                    `${found.id}: ${found.help}: ${found.nodes.slice(0, 4).map((node) => node.html).join(" | ")}`)),
                (error) => done([`axe: ${error}`]));
            """)
    }
}
