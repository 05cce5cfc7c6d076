/// The frame around the content of every page.
struct PageFrame {
    let title: String
    /// Proves that a form on the page is ours; nil without a session.
    var formToken: String?
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

/// A page with one sentence or more and nothing to do.
struct MessagePage {
    let frame: PageFrame
    let heading: String
    let paragraphs: [String]
}
