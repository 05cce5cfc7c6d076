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

    /// What each server says, and the code that must come of it (NET-2, AUT-31).
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
