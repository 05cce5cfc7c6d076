// What the examples of the libraries use without declaring it; scripts/check-examples compiles them with this file.
import FetchEngine
import FetchdClient

var url: URLRecord { fatalError() }
var request: Request {
    get { fatalError() }
    set {}
}
var response: Response { fatalError() }
var session: Session { fatalError() }
var task: DataTask { fatalError() }
var error: LoadError { fatalError() }
var service: FetchdService { fatalError() }
var delegate: any RemoteURLSessionDelegate { fatalError() }
var secret: String { fatalError() }
var cookie: Cookie { fatalError() }
var body: RequestBody { fatalError() }
var configuration: SessionConfiguration {
    get { fatalError() }
    set {}
}
var json: [UInt8] { fatalError() }
var file: [UInt8] { fatalError() }
var path: String { fatalError() }
var directory: String { fatalError() }
var user: String { fatalError() }
var password: String { fatalError() }
var passphrase: String { fatalError() }
var expected: Fingerprint { fatalError() }

/// Keeps bytes for a later run of the program.
func store(_ bytes: [UInt8]) {}
/// What an earlier run kept.
func stored() -> [UInt8] { [] }
/// The digest of a text in hexadecimal.
func sha256(_ text: String) -> String { text }
