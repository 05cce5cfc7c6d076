import FetchEngine
import Foundation

/// The file of a download, as its delegate gets it.
struct TemporaryFile {
    let location: URL
    private let handle: FileHandle

    init() throws(FetchdError) {
        let path = FileManager.default.temporaryDirectory.appending(path: "fetchd-\(UUID().uuidString)").path
        let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
        guard FileManager.default.createFile(atPath: path, contents: nil, attributes: attributes),
            let handle = FileHandle(forWritingAtPath: path)
        else { throw Self.failure(.cannotCreateFile) }
        location = URL(filePath: path)
        self.handle = handle
    }

    func write(_ bytes: [UInt8]) throws(FetchdError) {
        do { try handle.write(contentsOf: bytes) } catch { throw Self.failure(.cannotWriteToFile) }
    }

    func finish() throws(FetchdError) {
        do { try handle.close() } catch { throw Self.failure(.cannotCloseFile) }
    }

    /// Removes it, unless the program has moved it.
    func remove() { try? FileManager.default.removeItem(at: location) }

    private static func failure(_ code: LoadError.Code) -> FetchdError {
        let error = LoadError(code, "The file of the download cannot be written.")
        return FetchdError(.init(rawValue: code.name), error.message, underlying: error)
    }
}
