import Testing

@testable import Avatars

struct `International labels` {
    /// Of RFC 3492, section 7.1, those that stand for a script each, and names people own.
    @Test(arguments: [
        ("bücher", "bcher-kva"), ("münchen", "mnchen-3ya"), ("straße", "strae-oqa"), ("例え", "r8jz45g"),
        ("他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"), ("почемужеонинеговорятпорусски", "b1abfaaepdrnnbgefbadotcwatmq2g4l"),
        ("ليهمابتكلموشعربي؟", "egbpdaj6bu4bxfgehfvwxn"),
        ("安室奈美恵-with-super-monkeys", "-with-super-monkeys-pc58ag80a8qai00g7n9n"),
        ("ひとつ屋根の下2", "2-u9tlzr9756bt3uc0v"), ("パフィーdeルンバ", "de-jg4avhby1noc0d"), ("ü", "tda"), ("a", "a-"),
    ])
    func `labels are encoded as RFC 3492 has them`(label: String, encoded: String) {
        #expect(Punycode.encode(label) == encoded)
    }
}
