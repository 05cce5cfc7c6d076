import EventLoop
import Glibc
import HTTPTypes
import TestSupport
import Testing

@testable import FetchEngine

/// Codes that the system's refusals have, provoked in processes of their own where that needs one.
@Suite(.timeLimit(.minutes(1))) struct ProvokedSystemErrorTests {
    // A new network namespace has no route to anywhere; only root can make one.
    // Proves: ERR-4.
    @Test(.enabled(if: geteuid() == 0))
    func `without a network the load is not connected to the internet`() async {
        await #expect(processExitsWith: .success) {
            // Threads that are started from now on are in the new namespace.
            guard ProvokedSystemErrorTests.leaveNetwork() else { exit(EXIT_SUCCESS) }
            let session = Session(transferLoop: TransferLoop(TaskLoop(name: "offline")))
            do {
                _ = try await session.data(for: Request(url: try URLRecord("http://192.0.2.1/")))
                exit(2)
            } catch let error as LoadError {
                guard error.code == .notConnectedToInternet, error.isTransient else { exit(3) }
            }
        }
    }

    // In a process of its own, whose resolver asks no server at all.
    // Proves: ERR-4.
    @Test func `a name that no name server answers for has its code`() async {
        await #expect(processExitsWith: .success) {
            setenv("RES_OPTIONS", "attempts:0", 1)
            var configuration = SessionConfiguration()
            configuration.targetPolicy = .publicOnly
            do {
                _ = try await Session(configuration: configuration)
                    .data(for: Request(url: try URLRecord("http://origin.example/")))
                exit(2)
            } catch let error as LoadError {
                guard error.code == .dnsLookupFailed, error.isTransient else { exit(3) }
            }
        }
    }

    // Proves: ERR-4.
    @Test func `a destination that becomes a folder on the way cannot be moved to`() async throws {
        struct Blocker: DownloadDelegate {
            func task(_ task: DownloadTask, didCreateDestination path: String) async { mkdir(path, 0o700) }
        }
        let directory = try TemporaryDirectory()
        let destination = DownloadDestination(path: directory.file("x"), allowOverwrite: true)
        let request = Request(url: try URLRecord("data:,hello"))
        await expect(.cannotMoveFile) {
            try await Session().download(
                for: request, options: DownloadOptions(destination: destination), delegate: Blocker())
        }
        #expect(try directory.names() == ["x"])
    }

    // Proves: ERR-4.
    @Test func `a partial file that became a folder cannot be removed`() throws {
        let directory = try TemporaryDirectory()
        let file = try DownloadFile(in: directory.path + "/")
        #expect(unlink(file.path) == 0 && mkdir(file.path, 0o700) == 0)
        #expect { try file.remove() } throws: { ($0 as? LoadError)?.code == .cannotRemoveFile }
    }

    // In a process of its own, because the descriptor's number could go to another test.
    // Proves: ERR-4.
    @Test func `a file whose descriptor is gone cannot be closed`() async throws {
        await #expect(processExitsWith: .success) {
            await Task.yield()
            // Another thread of the process may be given the number at once, which is closed then; seldom twice.
            for _ in 0..<20 {
                let file = try DownloadFile(in: "/tmp/")
                unlink(file.path)
                let number = (Int32(0)..<4096).first {
                    ProvokedSystemErrorTests.path(of: $0) == file.path + " (deleted)"
                }
                guard let number else { exit(4) }
                close(number)
                do { try file.close() } catch let error as LoadError {
                    exit(error.code == .cannotCloseFile ? EXIT_SUCCESS : 3)
                }
            }
            exit(2)
        }
    }

    /// Moves this thread to a network namespace of its own; Swift's view of glibc leaves `unshare` out.
    fileprivate static func leaveNetwork() -> Bool {
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let unshare = dlsym(nil, "unshare").map({ unsafeBitCast($0, to: Unshare.self) }) else { return false }
        let newNetwork: Int32 = 0x4000_0000
        return unshare(newNetwork) == 0
    }

    fileprivate static func path(of descriptor: Int32) -> String {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = buffer.withUnsafeMutableBytes {
            readlink("/proc/self/fd/\(descriptor)", $0.bindMemory(to: CChar.self).baseAddress!, $0.count)
        }
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
