import Foundation
import TestSupport
import Testing

@testable import FetchEngine

@Suite struct DownloadFileTests {
    // Proves: DLD-1, DLD-10, LIF-12.
    @Test func `a file appears under its name only when it is complete`() throws {
        let directory = try TemporaryDirectory()
        let file = try DownloadFile(in: directory.path + "/")
        let reserved = try ReservedDestination(DownloadDestination(path: directory.path + "/a.txt"))
        try file.write(Array("hello".utf8))
        #expect(directory.text(of: "a.txt") == "")
        try reserved.fill(with: file)
        #expect(directory.text(of: "a.txt") == "hello")
        #expect(try directory.names() == ["a.txt"])
    }

    // Proves: DLD-2.
    @Test func `fifty downloads of one name at once get fifty files, and none is lost`() async throws {
        let directory = try TemporaryDirectory()
        let destination = DownloadDestination(path: directory.path + "/index.html")
        try await withThrowingTaskGroup { group in
            for number in 0..<50 {
                group.addTask {
                    let file = try DownloadFile(in: destination.directory)
                    try file.write(Array("\(number)".utf8))
                    try ReservedDestination(destination).fill(with: file)
                }
            }
            try await group.waitForAll()
        }
        let names = try directory.names()
        #expect(names.contains("index.html") && names.contains("index-49.html") && names.count == 50)
        #expect(Set(names.map { directory.text(of: $0) }) == Set((0..<50).map { "\($0)" }))
    }

    // Proves: DLD-1.
    @Test func `overwriting replaces in one step, and not before the end`() throws {
        let directory = try TemporaryDirectory()
        let destination = DownloadDestination(path: directory.path + "/a", allowOverwrite: true)
        for text in ["one", "two"] {
            let file = try DownloadFile(in: destination.directory)
            try file.write(Array(text.utf8))
            let reserved = try ReservedDestination(destination)
            if text == "two" { #expect(directory.text(of: "a") == "one") }
            try reserved.fill(with: file)
            #expect(directory.text(of: "a") == text)
        }
        #expect(try directory.names() == ["a"])
    }

    // Proves: DLD-10.
    @Test func `a name that is given back is free again`() throws {
        let directory = try TemporaryDirectory()
        let destination = DownloadDestination(path: directory.path + "/a")
        try ReservedDestination(destination).release()
        #expect(try ReservedDestination(destination).path == destination.path)
    }

    // Proves: DLD-1, DLD-18.
    @Test func `a directory, a missing directory and a name too long fail cleanly`() throws {
        let directory = try TemporaryDirectory()
        for overwrite in [true, false] {
            for path in [directory.path, directory.path + "/", ""] {
                let error = #expect(throws: LoadError.self) {
                    try ReservedDestination(DownloadDestination(path: path, allowOverwrite: overwrite))
                }
                #expect(error?.code == .fileIsDirectory)
            }
        }
        for name in ["none/a", String(repeating: "a", count: 300)] {
            let error = #expect(throws: LoadError.self) {
                try ReservedDestination(DownloadDestination(path: directory.path + "/" + name))
            }
            #expect(error?.code == .cannotCreateFile)
            #expect(error.map { !"\($0)".contains(directory.path) } == true)
        }
        #expect(throws: LoadError.self) { try DownloadFile(in: directory.path + "/none/") }
    }

    // Proves: DLD-14.
    @Test func `going on cuts off what was not counted`() throws {
        let directory = try TemporaryDirectory()
        let file = try DownloadFile(in: directory.path + "/")
        try file.write(Array("hello world".utf8))
        try file.close()
        let more = try DownloadFile(continuing: file.path, at: 5)
        try more.write(Array("!".utf8))
        #expect(more.count == 6)
        try more.sync()
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "hello!")
        let error = #expect(throws: LoadError.self) { try DownloadFile(continuing: file.path, at: 7) }
        #expect(error?.code == .cannotOpenFile)
        try more.empty()
        try more.write(Array("x".utf8))
        #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "x")
        try more.remove()
        try more.remove()
        #expect(try directory.names() == [])
    }
}
