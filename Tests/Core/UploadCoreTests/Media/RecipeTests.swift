import Testing
import UploadCore

@Suite struct RecipeTests {
    @Test(arguments: [
        (Recipe(), ""),
        (Recipe(removal: .positions), "strip location"),
        (Recipe(removal: .metadata(keepsDates: false)), "strip metadata"),
        (Recipe(removal: .metadata(keepsDates: true)), "strip metadata keep dates"),
        (Recipe(conversion: .jpeg(quality: 85, maximumSide: 0)), "jpeg quality=85"),
        (Recipe(conversion: .jpeg(quality: 85, maximumSide: 2048)), "jpeg quality=85 side=2048"),
        (
            Recipe(conversion: .mp4(height: 480, quality: 23), removal: .positions),
            "mp4 height=480 crf=23,strip location"
        ),
    ]) func theTextStatesTheRecipe(recipe: Recipe, text: String) {
        #expect(recipe.text == text)
        #expect(recipe.isEmpty == text.isEmpty)
    }
}
