/// The relation between file extensions and media types.
///
/// A table of our own, because a minimal system has no `/etc/mime.types` and a result should not depend on the
/// machine. It holds the types that servers and people name files of; anything else is `application/octet-stream`.
enum FileExtension {
    /// The media type for the extension of a path, in lower case; nil for an unknown one.
    static func mediaType(ofPath path: some StringProtocol) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return nil }
        return byExtension[name[name.index(after: dot)...].lowercased()]
    }

    /// The usual extension for a media type, without the dot; nil for an unknown one.
    static func preferred(for mediaType: String) -> String? { byMediaType[mediaType] }

    private static let byExtension: [String: String] = Dictionary(
        table.flatMap { row in row.extensions.map { ($0, row.mediaType) } }, uniquingKeysWith: { first, _ in first })

    private static let byMediaType: [String: String] = Dictionary(
        table.compactMap { row in row.extensions.first.map { (row.mediaType, $0) } },
        uniquingKeysWith: { first, _ in first })

    /// The preferred extension stands first.
    private static let table: [(mediaType: String, extensions: [String])] = [
        ("text/html", ["html", "htm"]), ("text/plain", ["txt", "text", "log"]), ("text/css", ["css"]),
        ("text/csv", ["csv"]), ("text/markdown", ["md", "markdown"]), ("text/calendar", ["ics"]),
        ("text/vcard", ["vcf"]), ("text/xml", ["xml"]), ("text/javascript", ["js", "mjs"]),
        ("application/javascript", ["js"]), ("application/json", ["json"]), ("application/xml", ["xml"]),
        ("application/xhtml+xml", ["xhtml"]), ("application/ld+json", ["jsonld"]),
        ("application/manifest+json", ["webmanifest"]), ("application/geo+json", ["geojson"]),
        ("application/x-ndjson", ["ndjson"]), ("application/yaml", ["yaml", "yml"]), ("application/toml", ["toml"]),
        ("application/rss+xml", ["rss"]), ("application/atom+xml", ["atom"]), ("application/wasm", ["wasm"]),
        ("application/pdf", ["pdf"]), ("application/rtf", ["rtf"]), ("application/epub+zip", ["epub"]),
        ("application/postscript", ["ps", "eps"]), ("application/msword", ["doc"]),
        ("application/vnd.ms-excel", ["xls"]), ("application/vnd.ms-powerpoint", ["ppt"]),
        ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", ["docx"]),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ["xlsx"]),
        ("application/vnd.openxmlformats-officedocument.presentationml.presentation", ["pptx"]),
        ("application/vnd.oasis.opendocument.text", ["odt"]),
        ("application/vnd.oasis.opendocument.spreadsheet", ["ods"]),
        ("application/vnd.sqlite3", ["sqlite", "db"]), ("application/sql", ["sql"]),
        ("application/zip", ["zip"]), ("application/gzip", ["gz", "tgz"]), ("application/x-gzip", ["gz"]),
        ("application/zstd", ["zst"]), ("application/x-bzip2", ["bz2"]), ("application/x-xz", ["xz"]),
        ("application/x-7z-compressed", ["7z"]), ("application/vnd.rar", ["rar"]), ("application/x-tar", ["tar"]),
        ("application/java-archive", ["jar"]), ("application/vnd.debian.binary-package", ["deb"]),
        ("application/x-rpm", ["rpm"]), ("application/x-apple-diskimage", ["dmg"]),
        ("application/x-iso9660-image", ["iso"]), ("application/vnd.android.package-archive", ["apk"]),
        ("application/mac-binhex40", ["hqx"]), ("application/octet-stream", ["bin"]),
        ("application/macbinary", ["bin"]), ("application/x-sh", ["sh"]),
        ("application/pem-certificate-chain", ["pem"]),
        ("application/pgp-signature", ["asc", "sig"]),
        ("image/png", ["png"]), ("image/jpeg", ["jpg", "jpeg"]), ("image/gif", ["gif"]), ("image/webp", ["webp"]),
        ("image/avif", ["avif"]), ("image/svg+xml", ["svg"]), ("image/bmp", ["bmp"]),
        ("image/tiff", ["tiff", "tif"]),
        ("image/heic", ["heic"]), ("image/x-icon", ["ico"]), ("image/vnd.microsoft.icon", ["ico"]),
        ("audio/mpeg", ["mp3"]), ("audio/mp4", ["m4a"]), ("audio/ogg", ["ogg", "oga"]), ("audio/flac", ["flac"]),
        ("audio/wav", ["wav"]), ("audio/aac", ["aac"]), ("video/mp4", ["mp4", "m4v"]),
        ("video/webm", ["webm"]), ("video/ogg", ["ogv"]), ("video/quicktime", ["mov"]),
        ("video/x-matroska", ["mkv"]),
        ("video/mpeg", ["mpeg", "mpg"]), ("video/x-msvideo", ["avi"]), ("font/woff", ["woff"]),
        ("font/woff2", ["woff2"]), ("font/ttf", ["ttf"]),
        ("font/otf", ["otf"]),
    ]
}
