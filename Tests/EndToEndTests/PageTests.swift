import Foundation
import TestSupport
import Testing

/// The pages of the documentation that tell a reader what to do.
@Suite(.timeLimit(.minutes(5))) struct PageTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static let pages: [String] = {
        let guides = root.appending(path: "docs/how-to").path
        let files = (try? FileManager.default.contentsOfDirectory(atPath: guides)) ?? []
        return ["docs/tutorial.md"] + files.filter { $0.hasSuffix(".md") }.sorted().map { "docs/how-to/\($0)" }
    }()

    @Test(arguments: pages)
    func `a page shows what happens to a reader who does what it says`(_ page: String) async throws {
        var environment = ProcessInfo.processInfo.environment
        environment["FETCHD"] = ServiceProcess.program
        let script = Self.root.appending(path: "scripts/run-page").path
        try await Program.run(
            ["/usr/bin/python3", script, Self.root.appending(path: page).path], environment: environment)
    }

    @Test func `there are a tutorial and pages for single tasks`() { #expect(Self.pages.count >= 5) }
}
