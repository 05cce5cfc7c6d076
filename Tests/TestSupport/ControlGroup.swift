import Foundation
import Glibc

/// A control group of Linux: what the programs in it have together is bounded.
package final class ControlGroup: Sendable {
    package enum Resource: String, Sendable {
        case memory
        /// Processes and threads.
        case pids
    }

    private let directory: String
    private let limit: String

    /// Whether this machine lets us make one.
    package static func isAllowed(_ resource: Resource) -> Bool {
        (try? ControlGroup(resource, maximum: 1 << 20)) != nil
    }

    package init(_ resource: Resource, maximum: Int) throws {
        // The older interface has a tree for each resource, the newer one has one for all.
        let tree = "/sys/fs/cgroup/\(resource.rawValue)"
        let isOlder = access("\(tree)/cgroup.procs", F_OK) == 0
        directory = (isOlder ? tree : "/sys/fs/cgroup") + "/fetchd-\(UUID().uuidString.prefix(8))"
        let name = isOlder && resource == .memory ? "memory.limit_in_bytes" : "\(resource.rawValue).max"
        limit = "\(directory)/\(name)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try setMaximum(maximum)
    }

    deinit { rmdir(directory) }

    /// The command that starts a program in the group, by becoming it.
    package var launcher: [String] {
        ["/bin/sh", "-c", #"echo $$ >"$0/cgroup.procs" && exec "$@""#, directory]
    }

    package func setMaximum(_ maximum: Int) throws {
        let file = FileHandle(forWritingAtPath: limit)
        try require(file).write(contentsOf: Data("\(maximum)\n".utf8))
    }

    /// How many processes and threads there are.
    package var count: Int {
        get throws {
            let text = try String(contentsOfFile: "\(directory)/pids.current", encoding: .utf8)
            return try require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        }
    }

    private func require<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Program.Failed(description: "\(directory) has no such limit") }
        return value
    }
}
