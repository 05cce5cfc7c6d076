import Glibc
import Testing

@testable import PostgresCluster

@Suite struct ClusterPlaceTests {
    private let user = OSUser(name: "somebody", id: 4711, group: 4711)

    @Test func `the socket is beside the data while its path is short, and always fits an address`() {
        let near = ClusterPlace(directory: "/var/lib/fetchd/postgres", runtimeDirectory: "/run", user: user)
        #expect(near.socketDirectory == "/var/lib/fetchd/postgres/run")
        let long = "/" + String(repeating: "x", count: 200)
        let far = ClusterPlace(directory: long, runtimeDirectory: "/run/user/1000", user: user)
        #expect(far.socketDirectory.hasPrefix("/run/user/1000/fetchd-"))
        #expect(far.socket.utf8.count < 104)
        #expect(far == ClusterPlace(directory: long, runtimeDirectory: "/run/user/1000", user: user))
        #expect(
            far.socket != ClusterPlace(directory: long + "y", runtimeDirectory: "/run/user/1000", user: user).socket)
    }

    @Test func `a quote in the path does not end the connection string's value`() {
        let place = ClusterPlace(directory: "/a'b\\c", runtimeDirectory: "/run", user: user)
        #expect(place.connectionString(database: "d").hasPrefix(#"host='/a\'b\\c/run' "#))
    }

    @Test(arguments: [
        ("postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)", 15), ("postgres (PostgreSQL) 17beta1", 17),
    ])
    func `the major is read from the version`(line: String, major: Int) {
        #expect(ServerBinaries.major(in: line) == major)
    }

    @Test(
        arguments: [
            ("ID=debian\nID_LIKE=x", nil, "apt-get install postgresql"),
            ("ID=linuxmint\nID_LIKE=\"ubuntu debian\"", 15, "apt-get install postgresql-15"),
            ("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"", nil, "dnf install postgresql-server"),
            ("ID=alpine", 16, "apk add postgresql16"),
            ("ID=plan9", nil, "your system's package of the PostgreSQL server"),
        ] as [(String, Int?, String)])
    func `the package is named as the distribution names it`(release: String, major: Int?, command: String) {
        #expect(ServerBinaries.installCommand(major: major, release: release) == command)
    }

    @Test func `what the owner tells its supervisor arrives`() {
        let arguments = SupervisorArguments(
            directory: "/d", socketDirectory: "/s", binaries: "/b", major: 15, users: ["a", "root"])
        #expect(SupervisorArguments(arguments.list) == arguments)
        #expect(SupervisorArguments([]) == nil)
        #expect(SupervisorArguments(["/d", "/s", "/b", "x", "a"]) == nil)
    }
}
