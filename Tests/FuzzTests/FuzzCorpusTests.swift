import Foundation
import Testing

/// The inputs that the fuzzer has found or started from, read again.
@Suite struct FuzzCorpusTests {
    private static let corpora = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Fuzz").standardizedFileURL

    // Proves: ERR-7, SEC-28.
    @Test(arguments: FuzzTarget.allCases)
    func `every input of the corpus is read without a trap`(_ target: FuzzTarget) throws {
        let folder = Self.corpora.appending(path: target.rawValue)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(!files.isEmpty)
        for file in files { target.runInTime(Array(try Data(contentsOf: file))) }
    }

    // Proves: ERR-7, SEC-28.
    @Test(arguments: FuzzTarget.allCases)
    func `every beginning of an input is read without a trap`(_ target: FuzzTarget) throws {
        let folder = Self.corpora.appending(path: target.rawValue)
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            let bytes = Array(try Data(contentsOf: file).prefix(512))
            for count in 0...bytes.count { target.run(Array(bytes[..<count])) }
        }
    }
}
