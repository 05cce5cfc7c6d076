import Postgres
import Testing

@Suite struct GuessablePasswordTests {
    // Proves: SEC-53.
    @Test(arguments: [
        "postgres://postgres:postgres@db.internal/fetchd", "host=10.0.0.5 user=u password=PassWord",
        "postgres://worker:worker@db.internal/jobs", "postgres://worker:jobs@db.internal/jobs",
        "postgres://u:changeme@127.0.0.1,db.internal/jobs", "postgres://u:p%61ss@127.0.0.1.db.internal/jobs",
        "hostaddr=10.0.0.5 host=localhost user=u password=admin",
    ])
    func `what anybody would try first is known, for a server that others reach`(_ text: String) {
        #expect(GuessablePassword.isUsed(in: text))
    }

    @Test(arguments: [
        "postgres://postgres:postgres@127.0.0.1/fetchd", "postgres://postgres:postgres@localhost/fetchd",
        "postgres://postgres:postgres@[::1]:5433/fetchd", "host=/run/postgresql user=postgres password=postgres",
        "postgres://fetchd:V2hhdCBhIGxvdmVseSBkYXk@db.internal/fetchd", "postgres://fetchd@db.internal/fetchd",
        "nonsense",
    ])
    func `others are taken, and so is any on this machine`(_ text: String) {
        #expect(!GuessablePassword.isUsed(in: text))
    }
}
