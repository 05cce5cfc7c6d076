import HTTPTypes
import Testing

@testable import FetchEngine

@Suite struct FTPReplyTests {
    @Test func `a reply has a code, a text, and more lines or not`() throws {
        let last = try #require(FTPReply(Array("550 Failed to open file.\r\n".utf8)))
        #expect(last.code == 550 && last.text == "Failed to open file." && !last.isContinued)
        let first = try #require(FTPReply(Array("220-Welcome\r\n".utf8)))
        #expect(first.code == 220 && first.isContinued)
        #expect(FTPReply(Array("226".utf8))?.code == 226)
    }

    @Test(arguments: ["", "55", "abc", " 550 x", "5500 x", "55x y"])
    func `another line is none`(_ line: String) { #expect(FTPReply(Array(line.utf8)) == nil) }

    /// A reply of each server, and the code of its error.
    static let refusals: [(FTPStep, String, LoadError.Code)] = [
        (.retrieve, "550 Failed to open file.", .fileDoesNotExist),
        (.retrieve, "550 No such file or directory.", .fileDoesNotExist),
        (.retrieve, "550 Not enough privileges.", .noPermissionsToReadFile),
        (.retrieve, "550 secret.txt: Permission denied", .noPermissionsToReadFile),
        (.retrieve, "450 try later", .resourceUnavailable),
        (.retrieve, "425 Security: Bad IP connecting.", .networkConnectionLost),
        (.retrieve, "530 Please login with USER and PASS.", .userAuthenticationRequired),
        (.changeDirectory, "550 Failed to change directory.", .fileDoesNotExist),
        (.logIn, "530 Login incorrect.", .userAuthenticationRequired),
        (.logIn, "421 There are too many connected users", .networkConnectionLost),
        (.store, "550 Permission denied.", .uploadRefused), (.store, "553 Could not create file.", .uploadRefused),
        (.store, "552 quota", .uploadRefused),
    ]

    @Test(arguments: refusals)
    func `a refusal has its code`(_ step: FTPStep, _ line: String, _ code: LoadError.Code) throws {
        #expect(FTPFailure.code(at: step, reply: FTPReply(Array(line.utf8))) == code)
    }
}

/// A file's size and date as fields of HTTP.
@Suite struct FTPHeadTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT"),
        (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
    ])
    func `a date is written and read as HTTP has it`(_ seconds: Int64, _ text: String) {
        #expect(FTPTime.text(seconds) == text)
        #expect(FTPTime.seconds(text) == seconds)
    }

    @Test(arguments: ["", "\"tag\"", "Sun, 06 Nov 1994 08:49:37", "Sunday, 06-Nov-94 08:49:37 GMT"])
    func `another text is no date`(_ text: String) { #expect(FTPTime.seconds(text) == nil) }

    @Test func `size and date become fields`() {
        let head = FTPHead(path: "/a.bin", isUpload: false, offset: 0, remainingLength: 7, modified: 784_111_777)
        #expect(head.status == .ok)
        #expect(head.expectedLength == 7)
        #expect(head.fields[.contentLength] == "7")
        #expect(head.fields[.lastModified] == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func `a transfer from an offset is a partial one`() {
        let head = FTPHead(path: "/a.bin", isUpload: false, offset: 3, remainingLength: 4, modified: nil)
        #expect(head.status == .partialContent)
        #expect(head.fields[.contentRange] == "bytes 3-6/7")
    }

    @Test func `a length that no file has is not told`() {
        let head = FTPHead(path: "/a.bin", isUpload: false, offset: 1, remainingLength: .max, modified: nil)
        #expect(head.expectedLength == nil)
        #expect(head.fields == [.acceptRanges: "bytes"])
        let longest = FTPHead(path: "/a.bin", isUpload: false, offset: 1, remainingLength: .max - 1, modified: nil)
        #expect(longest.fields[.contentRange] == "bytes 1-\(Int64.max - 1)/\(Int64.max)")
    }

    @Test func `a listing has no length and no date`() {
        let head = FTPHead(path: "/", isUpload: false, offset: 0, remainingLength: 7, modified: 1)
        #expect(head.expectedLength == nil)
        #expect(head.fields == [.contentType: "text/plain"])
    }

    @Test func `only the rest of a file can be asked for`() {
        #expect(FTPResumption([.range: "bytes=3-"])?.offset == 3)
        for range in ["bytes=0-", "bytes=3-4", "bytes=-3", "bytes=1-,3-", "lines=3-", "bytes=x-"] {
            #expect(FTPResumption([.range: range]) == nil)
        }
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(FTPResumption([.range: "bytes=3-", .ifRange: date])?.unchangedSince == 784_111_777)
        #expect(FTPResumption([.range: "bytes=3-", .ifRange: "\"tag\""]) == nil)
    }
}
