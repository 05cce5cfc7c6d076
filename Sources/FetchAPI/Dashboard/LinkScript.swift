import Crypto
import Foundation

/// The one script of the dashboard: it sends the text behind the `#` of a link, and takes it out of the address bar.
enum LinkScript {
    /// As the page holds it, to the last byte: the policy names its hash.
    static let text = Embedded.files["link.js"] ?? ""

    /// The policy of the page that holds it: that of all pages, and this script (SEC-72).
    static let policy =
        "\(PagePolicy.text); script-src 'sha256-\(Data(SHA256.hash(data: Data(text.utf8))).base64EncodedString())'"
}
