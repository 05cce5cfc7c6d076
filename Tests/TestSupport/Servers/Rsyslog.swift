import Foundation

extension LoopbackServer {
    /// The path of rsyslogd, or nil where it is not installed.
    package static var rsyslogd: String? { installed("rsyslogd") }

    /// The socket on which ``rsyslogd(in:port:)`` takes messages of the machine, in its directory.
    package static let syslogSocket = "log"
    /// The file with what it has got: facility, severity, program, process, MSGID and message, each behind a tab.
    package static let syslogFile = "messages"

    /// The same, or nil where it cannot speak TLS.
    package static var rsyslogdTLS: String? {
        let modules = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        let isThere = modules.contains { folder in
            FileManager.default.fileExists(atPath: "/usr/lib/\(folder)/rsyslog/lmnsd_gtls.so")
        }
        return isThere ? rsyslogd : nil
    }

    /// rsyslogd as Debian sets it up, on a TCP port and on a socket; a later one in the same directory goes on.
    ///
    /// - Parameters:
    ///   - leaf: Its certificate; nil for a port without TLS.
    ///   - authority: Who has issued that, and those that clients have to show.
    package static func rsyslogd(
        in directory: TemporaryDirectory, port: UInt16, _ leaf: TestAuthority.Leaf? = nil,
        of authority: TestAuthority? = nil
    ) async throws -> LoopbackServer {
        let path = directory.path
        let driver =
            " StreamDriver.Name=\"gtls\" StreamDriver.Mode=\"1\" StreamDriver.AuthMode=\"x509/name\""
            + " PermittedPeer=[\"localhost\", \"client\"]"
        let files =
            leaf.map { leaf in
                " DefaultNetstreamDriver=\"gtls\" DefaultNetstreamDriverCAFile=\"\(authority?.certificatePath ?? "")\""
                    + " DefaultNetstreamDriverCertFile=\"\(leaf.certificatePath)\""
                    + " DefaultNetstreamDriverKeyFile=\"\(leaf.keyPath)\""
            } ?? ""
        let format =
            "%syslogfacility-text%\\t%syslogseverity-text%\\t%programname%\\t%procid%\\t%msgid%\\t"
            + "%msg:::sp-if-no-1st-sp%%msg%\\n"
        let file = try directory.write(
            """
            global(workDirectory="\(path)" maxMessageSize="64k"\(files))
            module(load="imuxsock" SysSock.Use="off")
            module(load="imtcp"\(leaf == nil ? "" : driver))
            input(type="imuxsock" Socket="\(path)/\(syslogSocket)")
            input(type="imtcp" address="127.0.0.1" port="\(port)")
            template(name="line" type="string" string="\(format)")
            action(type="omfile" file="\(path)/\(syslogFile)" template="line")

            """, to: "rsyslog.conf")
        return try await LoopbackServer(
            in: directory, port: port,
            [rsyslogd ?? "rsyslogd", "-n", "-f", file, "-i", directory.file("rsyslogd.pid")])
    }
}
