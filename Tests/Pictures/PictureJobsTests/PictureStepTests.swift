import PictureJobs
import Testing

struct `Steps of styles` {
    @Test(arguments: ["original", "rect:96x96", "rect:1x4096", "round:96x64,r=48,b=2", "round:96x96,r=0,b=0"])
    func `steps of styles are spelt as they are read`(text: String) {
        #expect(PictureStep(text)?.description == text)
    }

    @Test(arguments: [
        "", "Original", "original:", "rect", "rect:", "rect:96", "rect:96x", "rect:0x1", "rect:-1x1", "rect:4097x1",
        "rect:1x1x1", "rect:1x1,r=1", "round:96x96", "round:96x96,r=1", "round:96x96,b=1,r=1", "round:4x4,r=1,b=2",
        "round:96x96,r=1,b=1,", "rect:99999999999999999999x1", "rect: 1x1",
    ])
    func `what is no step is refused`(text: String) {
        #expect(PictureStep(text) == nil)
    }
}
