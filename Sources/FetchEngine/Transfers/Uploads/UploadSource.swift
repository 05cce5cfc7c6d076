import CCurl
import Glibc

/// The source of a transfer's request body.
///
/// Touched on the loop's thread only.
final class UploadSource {
    private enum Origin {
        case bytes([UInt8])
        case file(descriptor: Int32, FileVersion)
        case pipe(BodyPipe)
        case segments([UploadSource])
        case coded(CodedBody)
        case rest(UploadSource, from: Int64)
    }

    /// The number of bytes, or -1 when it is not known yet.
    let length: Int64
    private let origin: Origin
    private var offset: Int64 = 0
    /// Why reading failed, for the error that the transfer then ends with.
    private(set) var failure: LoadError?

    init(_ bytes: [UInt8]) {
        origin = .bytes(bytes)
        length = Int64(bytes.count)
    }

    init(_ pipe: BodyPipe, length: Int64?) {
        origin = .pipe(pipe)
        self.length = length ?? -1
    }

    private init(_ source: UploadSource, in coding: BodyCoding) {
        origin = .coded(CodedBody(source, coding))
        length = -1
    }

    /// This body in the coding that the request says.
    func coded(for request: Request) -> UploadSource {
        guard let coding = request.bodyCoding, request.body != nil, request.url.isHTTP else { return self }
        return UploadSource(self, in: coding)
    }

    /// The number of bytes that were put into a coding; nil where there is none.
    var countBeforeCoding: Int64? {
        if case .coded(let body) = origin { body.countOfBytesRead } else { nil }
    }

    private init(_ source: UploadSource, from start: Int64) {
        origin = .rest(source, from: start)
        length = source.length < 0 ? -1 : max(0, source.length - start)
    }

    /// This body without so many bytes at its beginning.
    func rest(from start: Int64) -> UploadSource { start > 0 ? UploadSource(self, from: start) : self }

    /// Opens all files of a content that is put together.
    init(segments: [RequestBody.Segment]) throws(LoadError) {
        var sources: [UploadSource] = []
        for segment in segments {
            switch segment {
            case .bytes(let bytes): sources.append(UploadSource(bytes))
            case .file(let path): sources.append(try UploadSource(path: path))
            }
        }
        origin = .segments(sources)
        length = sources.reduce(0) { $0 + $1.length }
    }

    /// Opens a file.
    ///
    /// - Throws: `fileDoesNotExist`, `fileIsDirectory`, `noPermissionsToReadFile` or `cannotOpenFile`.
    init(path: String) throws(LoadError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.openError(errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            close(descriptor)
            throw LoadError(
                isDirectory ? .fileIsDirectory : .cannotOpenFile, "The body is not a regular file.")
        }
        origin = .file(descriptor: descriptor, FileVersion(status))
        length = Int64(status.st_size)
    }

    deinit {
        switch origin {
        case .bytes, .segments, .coded, .rest: break
        case .file(let descriptor, _): close(descriptor)
        case .pipe(let pipe): pipe.close()
        }
    }

    /// Fills libcurl's buffer: a count, 0 at the end, or one of libcurl's own answers.
    func read(into buffer: UnsafeMutableRawBufferPointer, onReadable: @escaping @Sendable () -> Void) -> Int {
        switch origin {
        case .bytes(let bytes):
            let count = min(buffer.count, bytes.count - Int(offset))
            bytes.withUnsafeBytes {
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(offset)..<Int(offset) + count]))
            }
            return advanced(by: count)
        case .file(let descriptor, let version): return readFile(descriptor, version, into: buffer)
        case .pipe(let pipe): return readPipe(pipe, into: buffer, onReadable: onReadable)
        case .segments(let sources): return readSegments(sources, into: buffer)
        case .coded(let body):
            let count = body.read(into: buffer, onReadable: onReadable)
            failure = body.failure
            return count <= buffer.count ? advanced(by: count) : count
        case .rest(let source, let start): return readRest(source, from: start, into: buffer, onReadable: onReadable)
        }
    }

    /// Goes back, as libcurl asks when a kept connection turned out to be dead.
    func seek(to offset: Int64) -> Bool {
        if case .pipe = origin { return self.offset == offset }
        if case .coded(let body) = origin {
            guard self.offset != offset else { return true }
            guard offset == 0, body.restart() else { return false }
            self.offset = 0
            return true
        }
        if case .rest(let source, let start) = origin {
            guard source.seek(to: start + offset) else { return false }
            self.offset = offset
            return true
        }
        guard offset >= 0, offset <= length else { return false }
        self.offset = offset
        if case .segments(let sources) = origin { seekSegments(sources) }
        return true
    }

    private func advanced(by count: Int) -> Int {
        offset += Int64(count)
        return count
    }

    /// A file that changes while it is sent would arrive as one that never was (UPL-3).
    private func readFile(
        _ descriptor: Int32, _ version: FileVersion, into buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        let wanted = Int(min(Int64(buffer.count), length - offset))
        guard wanted > 0, let base = buffer.baseAddress else { return 0 }
        let count = pread(descriptor, base, wanted, off_t(offset))
        guard count > 0, FileVersion(descriptor: descriptor) == version else {
            return fail(.noPermissionsToReadFile, "The file to send changed while it was sent, or could not be read.")
        }
        return advanced(by: count)
    }

    /// Reads the first segment that is not at its end.
    private func readSegments(_ sources: [UploadSource], into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let source = sources.first(where: { $0.offset < $0.length }) else { return 0 }
        let count = source.read(into: buffer) {}
        failure = source.failure
        return count <= buffer.count ? advanced(by: count) : count
    }

    /// Puts each segment to where it is when so many bytes of all have been read.
    private func seekSegments(_ sources: [UploadSource]) {
        var rest = offset
        for source in sources {
            source.offset = min(rest, source.length)
            rest -= source.offset
        }
    }

    /// A stream cannot seek forward: unwanted bytes are read and dropped.
    private func readRest(
        _ source: UploadSource, from start: Int64, into buffer: UnsafeMutableRawBufferPointer,
        onReadable: @escaping @Sendable () -> Void
    ) -> Int {
        defer { failure = source.failure }
        while source.offset < start, !source.seek(to: start) {
            let room = Int(min(Int64(buffer.count), start - source.offset))
            let count = source.read(into: .init(rebasing: buffer[..<room]), onReadable: onReadable)
            guard count > 0, count <= room else { return count }
        }
        let count = source.read(into: buffer, onReadable: onReadable)
        return count <= buffer.count ? advanced(by: count) : count
    }

    private func readPipe(
        _ pipe: BodyPipe, into buffer: UnsafeMutableRawBufferPointer, onReadable: @escaping @Sendable () -> Void
    ) -> Int {
        switch pipe.read(into: buffer, onReadable: onReadable) {
        case .later: return Int(CURL_READFUNC_PAUSE)
        case .failed: return fail(.requestBodyStreamExhausted, "The stream of the body failed.")
        case .end where length >= 0 && offset < length:
            return fail(.requestBodyStreamExhausted, "The stream of the body ended before its length.")
        case .end: return 0
        case .bytes(let count) where length >= 0 && offset + Int64(count) > length:
            return fail(.requestBodyStreamExhausted, "The stream of the body is longer than its length.")
        case .bytes(let count): return advanced(by: count)
        }
    }

    private func fail(_ code: LoadError.Code, _ message: String) -> Int {
        failure = LoadError(code, message)
        return Int(CURL_READFUNC_ABORT)
    }

    private static func openError(_ number: Int32) -> LoadError {
        let code: LoadError.Code =
            switch number {
            case ENOENT, ENOTDIR: .fileDoesNotExist
            case EACCES, EPERM: .noPermissionsToReadFile
            default: .cannotOpenFile
            }
        let underlying = LoadError.Underlying(
            domain: "errno", number: Int(number), text: String(cString: strerror(number)))
        return LoadError(code, "The file to send could not be opened.", underlying: underlying)
    }
}
