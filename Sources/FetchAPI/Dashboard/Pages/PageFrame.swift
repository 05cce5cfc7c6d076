/// The frame around the content of every page.
struct PageFrame {
    let title: String
    /// Proves that a form on the page is ours; nil without a session.
    var formToken: String?
    /// What the visitor may do, as a word; nil without a session.
    var role: String?
    var showsAudit = false
}

/// A name and its value.
struct Fact {
    let name: String
    let value: String
}

struct SignInPage {
    let frame: PageFrame
    /// Where to go once signed in.
    let next: String
    let error: String?
}

/// The page that a link from the terminal leads to.
struct LinkPage {
    let frame: PageFrame
    let error: String?
    let script: String
}

/// A page with one sentence or more and nothing to do.
struct MessagePage {
    let frame: PageFrame
    let heading: String
    let paragraphs: [String]
}
