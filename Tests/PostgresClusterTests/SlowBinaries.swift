import Foundation
import Testing

/// PostgreSQL's programs with an `initdb` that begins and never ends.
final class SlowBinaries {
    let directory: String
    private let signal: String

    init(in root: String) throws {
        directory = "\(root)/bin"
        signal = "\(root)/creating"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try #require(mkfifo(signal, 0o666) == 0 && chmod(signal, 0o666) == 0)
        try write(
            """
            #!/bin/sh
            for argument; do case $argument in --pgdata=*) mkdir -p "${argument#--pgdata=}/base" ;; esac; done
            echo 15 >"\(signal)"
            exec sleep 60
            """, to: "initdb")
        try write("#!/bin/sh\necho 'postgres (PostgreSQL) 15.0'\n", to: "postgres")
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(directory)/\(name)"))
        chmod("\(directory)/\(name)", 0o755)
    }

    /// Blocks until `initdb` has begun.
    func waitUntilCreating() throws {
        let handle = try #require(FileHandle(forReadingAtPath: signal))
        _ = handle.readDataToEndOfFile()
    }
}
