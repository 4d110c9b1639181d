import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;

/** One GET by a client of the JDK with nothing set by hand: Fetch CLIENT URL. Prints status and body. */
class Fetch {
  public static void main(String[] args) throws Exception {
    URI url = URI.create(args[1]);
    if (args[0].equals("HttpClient")) {
      var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(url).build(), BodyHandlers.ofString());
      System.out.print(answer.statusCode() + " " + answer.body());
      return;
    }
    var connection = (HttpURLConnection) url.toURL().openConnection();
    int status = connection.getResponseCode();
    String body = new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    System.out.print(status + " " + body);
  }
}
